"""Requests to addresses that users name: to the internet only, to the address that was checked, and short."""

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from threading import Timer
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

#: The part of an IPv6 network that holds an IPv4 address (NAT64), which is what would be called.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
#: Networks that are not of the internet, whatever Python's ``is_global`` says: its list is not whole in each
#: version, and has nothing of clouds.
_INNER_NETWORKS = tuple(
    map(
        ipaddress.ip_network,
        (
            "168.63.129.16/32",  # what answers a virtual machine of Azure
            "192.0.0.0/24",  # protocols; 192.0.0.192 is Oracle's as 169.254.169.254 is others'
            "192.88.99.0/24",  # relays of 6to4
            "64:ff9b:1::/48",  # NAT64 within a network
            "2001::/23",  # protocols, Teredo among them
            "fec0::/10",  # site-local, before there was fc00::/7
            "5f00::/16",  # segment routing
        ),
    )
)

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressRefused(Exception):
    """An address that is not called; the text is the reason."""


def check_address(address: str) -> SplitResult:
    """The parts of the address; ``AddressRefused`` when it is none of the internet, or not found."""
    parts = split_address(address)
    resolve(parts)
    return parts


def split_address(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise AddressRefused("It is no address.") from None
    schemes = ("https", "http") if settings.WEBHOOK_HTTP else ("https",)
    if parts.scheme not in schemes:
        raise AddressRefused(f"It must begin with {schemes[0]}://.")
    if (
        not parts.hostname
        or port == 0
        or not address.isascii()
        or not address.isprintable()
        or set(address) & set(" \\")
    ):
        raise AddressRefused("It is no address.")
    if parts.username is not None or parts.fragment:
        raise AddressRefused("It must have neither a user nor a fragment.")
    return parts


def resolve(parts: SplitResult) -> str:
    """The IP address of the host; ``AddressRefused`` when any of its addresses is not of the internet."""
    assert parts.hostname is not None
    try:
        found = socket.getaddrinfo(parts.hostname, port_of(parts), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise AddressRefused(f"The host {parts.hostname} is not found.") from None
    addresses = [str(each[4][0]) for each in found]
    if not all(map(is_allowed, addresses)):
        raise AddressRefused("Its host is inside a network, not on the internet.")
    return addresses[0]


def port_of(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def is_allowed(text: str) -> bool:
    """True when an IP address is of the internet, or of a network in ``WEBHOOK_NETWORKS``."""
    address = innermost(ipaddress.ip_address(text.partition("%")[0]))
    networks = [ipaddress.ip_network(network) for network in settings.WEBHOOK_NETWORKS]
    return any(address in network for network in networks) or (
        address.is_global
        and not (address.is_multicast or address.is_reserved)
        and not any(address in network for network in _INNER_NETWORKS)
    )


def innermost(address: IPAddress) -> IPAddress:
    """The IPv4 address inside an IPv6 address of a transition mechanism, else the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(address.packed[-4:])
    return address.ipv4_mapped or address.sixtofour or address


def post(address: str, body: bytes, headers: Mapping[str, str]) -> int:
    """POST the body and return the status; no redirect is followed and no response body is read.

    ``AddressRefused``, ``OSError`` or ``HTTPException`` when there is none within ``WEBHOOK_SECONDS``.
    """
    parts = split_address(address)
    port, seconds = port_of(parts), settings.WEBHOOK_SECONDS
    assert parts.hostname is not None
    # To the address that was checked: resolved once more, the name could lead elsewhere.
    connected = socket.create_connection((resolve(parts), port), timeout=seconds)
    if parts.scheme == "https":
        connected = ssl.create_default_context().wrap_socket(
            connected, server_hostname=parts.hostname, do_handshake_on_connect=False
        )
    # A timeout is of each read; a receiver that sends a byte now and then would last for ever.
    end = Timer(seconds, shut_down, [connected])
    end.start()
    try:
        if isinstance(connected, ssl.SSLSocket):
            connected.do_handshake()
        connection = http.client.HTTPConnection(parts.hostname, port)
        connection.sock = connected
        target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        host = parts.netloc.rpartition("@")[2]
        connection.request("POST", target, body, {**headers, "Host": host})
        return connection.getresponse().status
    finally:
        end.cancel()
        connected.close()


def shut_down(connected: socket.socket) -> None:
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)
