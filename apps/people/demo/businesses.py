"""Names of providers that sound like providers, and are no real one's."""

from __future__ import annotations

from apps.people.demo.names import listed
from apps.people.demo.places import PLACES

MOODS = listed("""
    Amber, Brightwater, Calm, Candlelit, Cedar, Cheerful, Clever, Cobalt, Copper, Coral, Dappled, Daybreak,
    Dewdrop, Easygoing, Evergreen, Fernbrook, Gentle, Ginger, Glowing, Golden, Hazel, Homeward, Honey,
    Indigo, Ivory, Jaunty, Kindly, Lantern, Lemon, Linen, Maple, Marigold, Mellow, Merry, Misty, Moonlit,
    Olive, Opal, Patient, Pebble, Quiet, Rambling, Russet, Saffron, Sandstone, Silver, Starlit, Steady,
    Sunlit, Tangerine, Thistle, Timber, Umber, Velvet, Violet, Wandering, Willow, Windward, Woollen, Zephyr
""")
CREATURES = listed("""
    Bandicoot, Banksia, Bellbird, Bettong, Bilby, Boobook, Bottlebrush, Brolga, Budgerigar, Bushpea,
    Cassowary, Corella, Cuttlefish, Curlew, Currawong, Dotterel, Dunnart, Echidna, Emu, Fairywren, Fantail,
    Finch, Galah, Gecko, Glider, Goanna, Grevillea, Hakea, Heron, Honeyeater, Ibis, Ironbark, Jabiru,
    Kelpie, Kookaburra, Lomandra, Lorikeet, Lyrebird, Magpie, Numbat, Oriole, Osprey, Pademelon, Paperbark,
    Pardalote, Pelican, Penguin, Platypus, Plover, Possum, Potoroo, Quokka, Quoll, Rosella, Sandpiper,
    Seadragon, Skink, Spinebill, Sugarglider, Tawny, Teatree, Treefrog, Turtle, Wagtail, Waratah, Whistler,
    Wombat, Wobbegong, Wren, Yabby
""")
TRADES = listed("""
    Support Services, Disability Support, Community Care, Home Care, Occupational Therapy, Speech Pathology,
    Physiotherapy, Psychology, Positive Behaviour Support, Exercise Physiology, Dietetics, Music Therapy,
    Art Therapy, Early Childhood Intervention, Support Coordination, Plan Management, Supported Living,
    Respite Stays, Community Access, Transport, Personal Care, Nursing, Allied Health, Assistive Technology,
    Home Modifications, Cleaning and Gardening, Employment Support, Social Groups, Youth Programs, Vision
    Services, Hearing Services, Continence Services, Podiatry, Auslan Interpreting, Driver Training,
    Capacity Building
""")
FORMS = ("", " Pty Ltd", "", " Inc.")

#: How many names there are before a place is added to tell them apart.
NAMES = len(MOODS) * len(CREATURES) * len(TRADES)
#: No factor in common with NAMES, so that a walk in such steps meets every name once.
STEP = 100_003


def business_name(number: int, start: int = 0) -> str:
    """The name of the demo client of that number; no two have the same. ``start`` begins elsewhere."""
    rounds, place = divmod(number, NAMES)
    left, trade = divmod((start + place * STEP) % NAMES, len(TRADES))
    mood, creature = divmod(left, len(CREATURES))
    name = f"{MOODS[mood]} {CREATURES[creature]} {TRADES[trade]}{FORMS[place % len(FORMS)]}"
    return f"{name} {PLACES[rounds].suburb}" if rounds else name


def web_address(name: str) -> str:
    """``https://amber-bilby.example.com``."""
    mood, creature, *_ = name.lower().split()
    return f"https://{mood}-{creature}.example.com"
