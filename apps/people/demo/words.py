"""Names, places, numbers and addresses of demo people: well formed, plausible, and nobody's own."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from random import Random

from apps.core.demo import listed
from apps.people.choices import Gender, PriceGuideRegion

# --- people ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Origin:
    """The names of families from one part of the world, so that a first name suits its last name."""

    women: tuple[str, ...]
    men: tuple[str, ...]
    last: tuple[str, ...]

    def first(self, gender: str) -> tuple[str, ...]:
        """The first names for a gender; all of them for somebody who did not say."""
        if gender == Gender.FEMALE:
            return self.women
        return self.men if gender == Gender.MALE else self.women + self.men


#: Of a hundred people so many, women's names, men's names, last names.
NAMES = (
    (
        44,
        """Amelia, Charlotte, Olivia, Isla, Mia, Ava, Grace, Ella, Harper, Evelyn, Chloe, Sophie, Ruby,
        Lucy, Emily, Hannah, Jessica, Sarah, Rebecca, Lauren, Megan, Nicole, Michelle, Zoë, Renée, Tahlia""",
        """Oliver, Noah, Jack, William, Henry, Lucas, Thomas, James, Charlie, Ethan, Lachlan, Cooper, Max,
        Samuel, Benjamin, Joshua, Daniel, Matthew, Andrew, Christopher, Michael, David, Peter, Angus""",
        """Smith, Jones, Williams, Brown, Wilson, Taylor, Johnson, White, Martin, Anderson, Thompson, Walker,
        Harris, Lewis, Robinson, Clarke, Hall, Allen, Wright, King, Green, Baker, Adams, Hill, Mitchell,
        Phillips, Turner, Parker, Edwards, Collins, Stewart, Morris, Rogers, Reed, Cook,
        Ward, Watson, Brooks, Bennett, Gray, Hughes, Price, Foster, Butler, Simmons, Barnes, Fisher""",
    ),
    (
        12,
        "Bridget, Siobhán, Fiona, Niamh, Catriona, Maeve, Erin, Shannon, Colleen, Orla",
        "Liam, Patrick, Declan, Sean, Callum, Ewan, Brendan, Aidan, Connor, Fergus",
        """Murphy, Kelly, O'Brien, Ryan, O'Connor, Walsh, O'Sullivan, McCarthy, Doyle, Gallagher, Kennedy,
        Lynch, Murray, Quinn, Moore, McLoughlin, Byrne, O'Neill""",
    ),
    (
        10,
        "Eleni, Sofia, Katerina, Despina, Anastasia, Giulia, Francesca, Chiara, Rosa, Bianca, Lucia",
        "Nikolaos, Georgios, Dimitri, Kosta, Yianni, Stavros, Theo, Marco, Giuseppe, Luca, Domenico, Matteo",
        """Papadopoulos, Nikolaidis, Georgiou, Dimitriou, Pappas, Katsaros, Vlahos, Economou, Karagiannis,
        Rossi, Russo, Ferrari, Esposito, Bianchi, Romano, Colombo, De Luca, Conti, Giordano, Lombardi""",
    ),
    (
        13,
        "Linh, Thuy, Huong, Mai, Ngoc, Lan, Kim, Phuong, Mei, Xiu Ying, Li Na, Jing, Yan, Hui, Xin Yi, Wen",
        "Minh, Tuan, Duc, Hung, Quang, Thanh, Bao, Long, Wei, Jun, Hao, Ming, Jian, Lei, Zi Hao, Chen",
        """Nguyen, Tran, Le, Pham, Huynh, Hoang, Phan, Vu, Vo, Dang, Bui, Ngo, Duong, Wang, Li, Zhang, Liu,
        Chen, Yang, Huang, Zhao, Wu, Zhou, Xu, Sun, Lin, Guo, Chan, Wong""",
    ),
    (
        9,
        "Priya, Ananya, Divya, Kavita, Sunita, Harpreet, Lakshmi, Meera, Aisha, Nisha",
        "Arjun, Rahul, Vikram, Sanjay, Gurpreet, Rohan, Anil, Suresh, Aarav, Manpreet",
        """Singh, Kaur, Sharma, Patel, Kumar, Gupta, Reddy, Nair, Iyer, Mehta, Joshi, Desai, Verma, Rao, Gill,
        Sandhu, Dhillon, Banerjee""",
    ),
    (
        5,
        "Fatima, Layla, Maryam, Noor, Zainab, Rania, Yasmin, Hala",
        "Mohammed, Ahmed, Ali, Omar, Youssef, Khaled, Elias, Tariq",
        """Haddad, Khoury, Hassan, Ibrahim, Saleh, Mansour, Nasser, Khalil, Aziz, Hamdan, El-Masri, Abboud,
        Chahine, Issa, Taleb, Younan""",
    ),
    (
        4,
        "Kirra, Marli, Alinta, Lowanna, Tarni, Jedda, Merindah, Allira",
        "Jarrah, Koa, Yarran, Jandamarra, Jai, Tyson, Kobi, Warrick",
        "Wanganeen, Karpany, Kickett, Nona, Mosby, Bonson, Ah Chee, Ugle, Sailor, Bamblett, Blair, Dann",
    ),
    (
        3,
        "Sina, Leilani, Mele, Rosario, Maricel, Tala, Ivana, Jelena, Agnieszka, Ingrid",
        "Sione, Tevita, Manu, Ioane, Ramon, Wiremu, Goran, Zoran, Tomasz, Pieter",
        """Fonoti, Tuilagi, Leota, Taufa, Latu, Faleolo, Ngata, Santos, Reyes, Dela Cruz, Kovačević, Horvat,
        Petrović, Novak, Kowalski, Wiśniewski, De Vries, Müller, Yılmaz""",
    ),
)
#: One entry for each person in a hundred: a choice from it is a choice by weight.
ORIGINS = tuple(
    origin
    for share, women, men, last in NAMES
    for origin in [Origin(listed(women), listed(men), listed(last))] * share
)

# --- places ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """A suburb or town, the city it belongs to, its telephone area and its region of the price guide."""

    suburb: str
    city: str
    state: str
    post_code: str
    area_code: str
    region: str


AREA_CODES = {
    **{"NSW": "02", "ACT": "02", "VIC": "03", "TAS": "03"},
    **{"QLD": "07", "SA": "08", "WA": "08", "NT": "08"},
}
EASTERN = frozenset({"ACT", "NSW", "QLD", "VIC"})
REMOTE = frozenset({"Alice Springs", "Katherine", "Mount Isa", "Broome"})
VERY_REMOTE = frozenset({"Tennant Creek", "Nhulunbuy", "Thursday Island", "Coober Pedy"})

#: State, city (none for towns), suburbs with their postcodes.
SUBURBS = (
    (
        "NSW",
        "Sydney",
        """Surry Hills 2010, Newtown 2042, Marrickville 2204, Balmain 2041, Bondi 2026, Manly 2095,
        Chatswood 2067, Hornsby 2077, Ryde 2112, Parramatta 2150, Auburn 2144, Bankstown 2200,
        Cronulla 2230, Liverpool 2170, Cabramatta 2166, Fairfield 2165, Leichhardt 2040, Mosman 2088""",
    ),
    (
        "NSW",
        "",
        """Newcastle 2300, Gosford 2250, Wollongong 2500, Maitland 2320, Katoomba 2780, Goulburn 2580,
        Albury 2640, Wagga Wagga 2650, Orange 2800, Dubbo 2830, Tamworth 2340, Lismore 2480""",
    ),
    ("ACT", "Canberra", "Braddon 2612, Dickson 2602, Belconnen 2617, Phillip 2606, Gungahlin 2912"),
    (
        "VIC",
        "Melbourne",
        """Carlton 3053, Fitzroy 3065, Richmond 3121, St Kilda 3182, Brunswick 3056, Preston 3072,
        Northcote 3070, Essendon 3040, Footscray 3011, Reservoir 3073, South Yarra 3141""",
    ),
    ("VIC", "", "Geelong 3220, Bendigo 3550, Shepparton 3630, Wodonga 3690, Mildura 3500, Traralgon 3844"),
    (
        "QLD",
        "Brisbane",
        """Fortitude Valley 4006, West End 4101, Toowong 4066, Chermside 4032, Sunnybank 4109, Inala 4077,
        Redcliffe 4020, Wynnum 4178""",
    ),
    (
        "QLD",
        "",
        """Southport 4215, Maroochydore 4558, Ipswich 4305, Toowoomba 4350, Bundaberg 4670, Mackay 4740,
        Mount Isa 4825, Townsville 4810, Cairns 4870, Thursday Island 4875""",
    ),
    ("SA", "Adelaide", "Norwood 5067, Unley 5061, Glenelg 5045, Salisbury 5108, Elizabeth 5112, Marion 5043"),
    ("SA", "", "Murray Bridge 5253, Mount Gambier 5290, Whyalla 5600, Coober Pedy 5723"),
    ("WA", "Perth", "Subiaco 6008, Fremantle 6160, Joondalup 6027, Midland 6056, Rockingham 6168"),
    ("WA", "", "Mandurah 6210, Bunbury 6230, Albany 6330, Geraldton 6530, Broome 6725"),
    ("TAS", "Hobart", "Sandy Bay 7005, Glenorchy 7010, Moonah 7009"),
    ("TAS", "", "Launceston 7250, Devonport 7310, Burnie 7320"),
    ("NT", "Darwin", "Casuarina 0810, Palmerston 0830, Nightcliff 0810"),
    ("NT", "", "Katherine 0850, Alice Springs 0870, Tennant Creek 0860, Nhulunbuy 0880"),
)


def region_of(suburb: str, state: str) -> str:
    """The region of the scheme's price guide that a suburb lies in."""
    if suburb in REMOTE:
        return PriceGuideRegion.REMOTE.value
    if suburb in VERY_REMOTE:
        return PriceGuideRegion.VERY_REMOTE.value
    eastern, western = PriceGuideRegion.ACT_NSW_QLD_VIC, PriceGuideRegion.NT_SA_TAS_WA
    return (eastern if state in EASTERN else western).value


PLACES = tuple(
    Place(suburb, city or suburb, state, code, AREA_CODES[state], region_of(suburb, state))
    for state, city, text in SUBURBS
    for suburb, _, code in (entry.rpartition(" ") for entry in listed(text))
)

STREETS = listed("""
    Acacia Street, Albert Street, Banksia Street, Church Street, Fitzroy Street, George Street, High Street,
    King Street, Park Street, Queen Street, Railway Street, Station Street, Wattle Street, York Street,
    Beach Road, Bridge Road, Forest Road, Lake Road, Mill Road, Old Coach Road, Boronia Avenue, Hakea Avenue,
    Jacaranda Avenue, Riverside Avenue, Bellbird Drive, Lorikeet Drive, Rosella Drive, Anzac Crescent,
    Waratah Crescent, Fernleigh Court, Ironbark Court, Tea Tree Court, Harbour Parade, Ocean Parade
""")

# --- organisations --------------------------------------------------------------------------------------

FIRST_WORDS = listed("""
    Amber, Brightwater, Calm, Candlelit, Cedar, Cheerful, Clever, Cobalt, Copper, Coral, Dappled, Daybreak,
    Dewdrop, Easygoing, Evergreen, Fernbrook, Gentle, Ginger, Glowing, Golden, Hazel, Homeward, Honey, Indigo,
    Ivory, Jaunty, Kindly, Lantern, Lemon, Linen, Maple, Marigold, Mellow, Merry, Misty, Moonlit, Opal, Quiet
""")
SECOND_WORDS = listed("""
    Bandicoot, Banksia, Bellbird, Bettong, Bilby, Boobook, Bottlebrush, Brolga, Cassowary, Corella, Curlew,
    Currawong, Dotterel, Dunnart, Echidna, Emu, Fairywren, Fantail, Finch, Galah, Gecko, Goanna, Grevillea,
    Hakea, Heron, Ibis, Ironbark, Jabiru, Kelpie, Kookaburra, Lomandra, Lorikeet, Lyrebird, Magpie, Numbat
""")
SERVICES = listed("""
    Support Services, Disability Support, Community Care, Home Care, Occupational Therapy, Speech Pathology,
    Physiotherapy, Psychology, Positive Behaviour Support, Exercise Physiology, Dietetics, Music Therapy,
    Early Childhood Intervention, Support Coordination, Supported Living, Respite Stays, Community Access,
    Transport, Personal Care, Nursing, Allied Health, Cleaning and Gardening, Employment Support
""")
LEGAL_FORMS = ("", " Pty Ltd", "", " Inc.")

#: The number of names before a suburb is added to tell them apart.
BUSINESS_NAMES = len(FIRST_WORDS) * len(SECOND_WORDS) * len(SERVICES)
#: It has no factor in common with BUSINESS_NAMES, so that steps of this length meet every name once.
STEP = 10_007


def business_name(number: int, start: int = 0) -> str:
    """The name of the demo client of that number; no two have the same. ``start`` begins elsewhere."""
    rounds, step = divmod(number, BUSINESS_NAMES)
    left, service = divmod((start + step * STEP) % BUSINESS_NAMES, len(SERVICES))
    first, second = divmod(left, len(SECOND_WORDS))
    name = f"{FIRST_WORDS[first]} {SECOND_WORDS[second]} {SERVICES[service]}{LEGAL_FORMS[step % 4]}"
    return f"{name} {PLACES[rounds].suburb}" if rounds else name


def web_address(name: str) -> str:
    """``https://amber-bilby.example.com``."""
    first, second, *_ = name.lower().split()
    return f"https://{first}-{second}.example.com"


# --- numbers and addresses ------------------------------------------------------------------------------

#: Mobile numbers that the Australian Communications and Media Authority keeps free for works of fiction.
MOBILES = tuple(
    f"0491 {middle} {last}"
    for middle, lasts in (
        ("570", "006 110 156 157 158 159 313 737"),
        ("571", "266 491 804"),
        ("572", "549 665 983"),
        ("573", "087 770"),
        ("576", "398 801"),
        ("578", "148 888 957"),
        ("579", "212 455 760"),
    )
    for last in lasts.split()
)
#: The beginnings of its landline numbers for fiction, after an area code.
LANDLINES = ("5550", "7010")
#: Domains that are reserved for examples (RFC 2606): no letter sent there arrives.
DOMAINS = ("example.com", "example.net", "example.org")
ABN_WEIGHTS = (3, 5, 7, 9, 11, 13, 15, 17, 19)
BEYOND_ACCENTS = str.maketrans({"ı": "i", "ø": "o", "ł": "l", "đ": "d", "ß": "ss"})


def landline(chance: Random, area_code: str) -> str:
    """``(02) 5550 1234``."""
    return f"({area_code}) {chance.choice(LANDLINES)} {chance.randrange(10_000):04}"


def business_number(number: int) -> str:
    """The ABN of the demo client of that number: eleven digits, different for a thousand million.

    The first two digits make the weighted sum of all, the first one less by 1, divide by 89.
    """
    body = f"{(number * 618_033_989 + 120_000_017) % 1_000_000_000:09}"
    weighed = sum(weight * int(digit) for weight, digit in zip(ABN_WEIGHTS, body, strict=True))
    return f"{11 + (-weighed - 1) % 89}{body}"


def scheme_number(number: int) -> str:
    """The scheme number of the demo participant of that number: nine digits, most of them from 43 on."""
    start = {7: "31", 12: "44", 18: "45"}.get(number % 20, "43")
    return f"{start}{1_000_000 + (number * 3_819_661 + 271_829) % 9_000_000}"


def email_address(first_name: str, last_name: str, number: int) -> str:
    """``siobhan.obrien.7@example.net`` for Siobhán O'Brien."""
    plain = f"{first_name}.{last_name}".translate(BEYOND_ACCENTS).replace("'", "").replace(" ", ".")
    letters = unicodedata.normalize("NFD", plain).encode("ascii", "ignore").decode()
    return f"{letters.lower()}.{number}@{DOMAINS[number % len(DOMAINS)]}"
