"""Who stands for whom in the demo, as arithmetic on numbers: nobody has to be looked up.

Records are known by their number in the series ``staff``, ``client`` and ``contact`` of the context.
Archived records are never referred to.
"""

from __future__ import annotations

from apps.people.choices import Gender
from apps.people.demo import lists, tour

#: What the contacts are, in turn. Whoever is represented stands just before the representative.
CHILD, PARENT, ADULT, OLDER, REPRESENTED, GUARDIAN, WORKER = range(7)
TURNS = (
    *(CHILD, PARENT, ADULT, ADULT, WORKER),
    *(CHILD, PARENT, REPRESENTED, GUARDIAN, WORKER),
    *(ADULT, OLDER, ADULT, WORKER, ADULT),
    *(CHILD, PARENT, ADULT, WORKER, ADULT),
)
PARTICIPANTS = frozenset({CHILD, ADULT, OLDER, REPRESENTED})
WORKER_TURNS = tuple(turn for turn, kind in enumerate(TURNS) if kind == WORKER)

CLIENT_TURNS, ARCHIVED_CLIENT = 25, 13
ARCHIVED_CONTACT = 19


def kind_of_contact(number: int) -> int:
    return TURNS[number % len(TURNS)]


def is_participant(number: int) -> bool:
    """Whether the contact of that number takes part in the scheme: three in five do."""
    return kind_of_contact(number) in PARTICIPANTS


def contact_is_archived(number: int) -> bool:
    """One in forty; none who represents somebody, works somewhere or is represented."""
    return number % (2 * len(TURNS)) == ARCHIVED_CONTACT


def representative(number: int, contacts: int) -> int | None:
    """The contact who speaks for the contact of that number, among so many contacts."""
    if kind_of_contact(number) not in (CHILD, REPRESENTED) or number + 1 >= contacts:
        return None
    return number + 1


def gender_of_parent(number: int) -> str:
    """Two in three parents are mothers; known before they are drawn, for their children tell it first."""
    return Gender.MALE.value if number % 3 == 0 else Gender.FEMALE.value


def client_is_archived(number: int) -> bool:
    return number % CLIENT_TURNS == ARCHIVED_CLIENT


def providers(clients: int) -> int:
    """How many of so many clients are live and not the subscriber itself, which is number 0."""
    return clients - (clients - 1 - ARCHIVED_CLIENT + CLIENT_TURNS) // CLIENT_TURNS - 1


def provider(nth: int) -> int:
    """The number of the nth provider: every client but the subscriber and those archived."""
    turns, turn = divmod(nth + 1, CLIENT_TURNS - 1)
    return turns * CLIENT_TURNS + turn + (turn >= ARCHIVED_CLIENT)


def workplace(number: int, clients: int) -> int:
    """The client where the contact of that number works; for whom that is so see ``TURNS``."""
    block, turn = divmod(number, len(TURNS))
    nth = block * len(WORKER_TURNS) + WORKER_TURNS.index(turn)
    return provider(nth % providers(clients)) if providers(clients) else 0


def server(number: int, clients: int) -> int | None:
    """The provider that the participant of that number belongs to; one in three belongs to none."""
    if number % 3 == 2 or not providers(clients):
        return None
    return provider(number % providers(clients))


def key_contact(client: int, contacts: int) -> int | None:
    """The contact to ask for at a client: the first who works there, if so many contacts reach that far."""
    if client == 0 or client_is_archived(client):
        return None
    nth = client - (client + CLIENT_TURNS - ARCHIVED_CLIENT) // CLIENT_TURNS - 1
    block, turn = divmod(nth, len(WORKER_TURNS))
    number = block * len(TURNS) + WORKER_TURNS[turn]
    return number if number < contacts else None


def staff_is_archived(number: int) -> bool:
    return number % 13 == 12


def login_is_closed(number: int) -> bool:
    return number % 17 == 5


def teams_of_staff(number: int) -> int:
    """How many teams somebody works in."""
    if number % 7 == 6:
        return 0
    return 2 if number % 5 == 0 else 1


def role_of_staff(number: int) -> str:
    if number < len(tour.STAFF):
        return str(tour.STAFF[number]["role"])
    return lists.STAFF_ROLES[number % len(lists.STAFF_ROLES)]


def supervisor(number: int) -> int | None:
    """The colleague who leads somebody: everybody leads the next few, and the first nobody."""
    if number == 0:
        return None
    leader = number // 6
    while staff_is_archived(leader) or login_is_closed(leader):
        leader -= 1
    return leader


def account_managers(staff: int) -> list[int]:
    """The staff who look after contacts: plan managers and support coordinators who can sign in."""
    found = [
        number
        for number in range(staff)
        if role_of_staff(number) in (lists.PLAN_MANAGER, lists.SUPPORT_COORDINATOR)
        and not staff_is_archived(number)
        and not login_is_closed(number)
    ]
    return found or [0]
