"""Real suburbs with the postcodes and states they lie in, and streets to live in."""

from __future__ import annotations

from dataclasses import dataclass

from apps.people.choices import PriceGuideRegion
from apps.people.demo.names import listed


@dataclass(frozen=True, slots=True)
class Place:
    """A suburb or town, the city it belongs to, and where its telephones and its price guide place it."""

    suburb: str
    city: str
    state: str
    post_code: str
    area_code: str
    region: str


#: The telephone area of each state.
AREA_CODES = {
    "NSW": "02",
    "ACT": "02",
    "VIC": "03",
    "TAS": "03",
    "QLD": "07",
    "SA": "08",
    "WA": "08",
    "NT": "08",
}
#: Towns that telephone like the state next door.
ACROSS_THE_BORDER = {"Broken Hill": "08", "Tweed Heads": "07"}
EASTERN = frozenset({"ACT", "NSW", "QLD", "VIC"})
REMOTE = frozenset({"Alice Springs", "Katherine", "Mount Isa", "Broome"})
VERY_REMOTE = frozenset({"Tennant Creek", "Nhulunbuy", "Thursday Island", "Coober Pedy"})

#: The towns of a state that belong to no city.
TOWNS = ""
#: By state, then by city: suburbs with their postcodes.
SUBURBS = {
    "NSW": {
        "Sydney": """
            Sydney 2000, Surry Hills 2010, Newtown 2042, Marrickville 2204, Leichhardt 2040, Balmain 2041,
            Glebe 2037, Bondi 2026, Randwick 2031, Maroubra 2035, Mascot 2020, Manly 2095, Dee Why 2099,
            Mosman 2088, North Sydney 2060, Chatswood 2067, Hornsby 2077, Ryde 2112, Epping 2121,
            Parramatta 2150, Auburn 2144, Bankstown 2200, Lakemba 2195, Hurstville 2220, Kogarah 2217,
            Cronulla 2230, Sutherland 2232, Liverpool 2170, Cabramatta 2166, Fairfield 2165,
            Campbelltown 2560, Penrith 2750, Blacktown 2148, Mount Druitt 2770, Castle Hill 2154,
            Strathfield 2135, Burwood 2134, Ashfield 2131
        """,
        "Central Coast": "Gosford 2250, Wyong 2259",
        "Newcastle": "Newcastle 2300, Hamilton 2303, Charlestown 2290",
        "Wollongong": "Wollongong 2500, Dapto 2530",
        TOWNS: """
            Maitland 2320, Cessnock 2325, Katoomba 2780, Nowra 2541, Queanbeyan 2620, Goulburn 2580,
            Albury 2640, Wagga Wagga 2650, Orange 2800, Bathurst 2795, Dubbo 2830, Broken Hill 2880,
            Tamworth 2340, Armidale 2350, Port Macquarie 2444, Coffs Harbour 2450, Grafton 2460,
            Lismore 2480, Byron Bay 2481, Ballina 2478, Tweed Heads 2485, Griffith 2680
        """,
    },
    "ACT": {
        "Canberra": """
            Braddon 2612, Dickson 2602, Belconnen 2617, Kingston 2604, Phillip 2606, Gungahlin 2912,
            Greenway 2900, Kambah 2902, Curtin 2605
        """,
    },
    "VIC": {
        "Melbourne": """
            Melbourne 3000, Carlton 3053, Fitzroy 3065, Collingwood 3066, Richmond 3121, South Yarra 3141,
            St Kilda 3182, Brunswick 3056, Coburg 3058, Preston 3072, Reservoir 3073, Northcote 3070,
            Essendon 3040, Footscray 3011, Sunshine 3020, St Albans 3021, Werribee 3030,
            Williamstown 3016, Hawthorn 3122, Camberwell 3124, Box Hill 3128, Doncaster 3108,
            Ringwood 3134, Croydon 3136, Glen Waverley 3150, Clayton 3168, Springvale 3171,
            Dandenong 3175, Frankston 3199, Mornington 3931, Oakleigh 3166, Moorabbin 3189, Brighton 3186,
            Broadmeadows 3047, Craigieburn 3064
        """,
        "Geelong": "Geelong 3220",
        TOWNS: """
            Ballarat Central 3350, Bendigo 3550, Shepparton 3630, Wodonga 3690, Wangaratta 3677,
            Mildura 3500, Warrnambool 3280, Horsham 3400, Traralgon 3844, Morwell 3840, Sale 3850,
            Bairnsdale 3875, Echuca 3564, Swan Hill 3585, Colac 3250, Hamilton 3300
        """,
    },
    "QLD": {
        "Brisbane": """
            South Brisbane 4101, Fortitude Valley 4006, West End 4101, New Farm 4005, Toowong 4066,
            Indooroopilly 4068, Chermside 4032, Nundah 4012, Sunnybank 4109, Mount Gravatt 4122,
            Carindale 4152, Inala 4077, Redcliffe 4020, Wynnum 4178
        """,
        "Logan": "Logan Central 4114, Beenleigh 4207",
        "Gold Coast": """
            Southport 4215, Surfers Paradise 4217, Robina 4226, Burleigh Heads 4220, Coolangatta 4225
        """,
        "Sunshine Coast": "Maroochydore 4558, Caloundra 4551, Nambour 4560",
        TOWNS: """
            Ipswich 4305, Toowoomba 4350, Warwick 4370, Gympie 4570, Noosa Heads 4567, Maryborough 4650,
            Hervey Bay 4655, Bundaberg 4670, Gladstone 4680, Rockhampton 4700, Emerald 4720, Mackay 4740,
            Mount Isa 4825, Townsville 4810, Cairns 4870, Atherton 4883, Thursday Island 4875
        """,
    },
    "SA": {
        "Adelaide": """
            Adelaide 5000, North Adelaide 5006, Norwood 5067, Unley 5061, Prospect 5082, Glenelg 5045,
            Port Adelaide 5015, Salisbury 5108, Elizabeth 5112, Modbury 5092, Marion 5043, Semaphore 5019
        """,
        TOWNS: """
            Mount Barker 5251, Murray Bridge 5253, Victor Harbor 5211, Gawler 5118, Mount Gambier 5290,
            Whyalla 5600, Port Augusta 5700, Port Pirie 5540, Port Lincoln 5606, Coober Pedy 5723,
            Renmark 5341
        """,
    },
    "WA": {
        "Perth": """
            Perth 6000, Subiaco 6008, Fremantle 6160, Joondalup 6027, Scarborough 6019, Midland 6056,
            Cannington 6107, Armadale 6112, Rockingham 6168, Victoria Park 6100, Mount Lawley 6050,
            Cottesloe 6011
        """,
        TOWNS: """
            Mandurah 6210, Bunbury 6230, Busselton 6280, Albany 6330, Kalgoorlie 6430, Geraldton 6530,
            Broome 6725, Esperance 6450
        """,
    },
    "TAS": {
        "Hobart": "Hobart 7000, Sandy Bay 7005, Glenorchy 7010, Moonah 7009, Kingston 7050",
        TOWNS: "Launceston 7250, Devonport 7310, Burnie 7320, Ulverstone 7315, New Norfolk 7140",
    },
    "NT": {
        "Darwin": "Darwin City 0800, Casuarina 0810, Palmerston 0830, Nightcliff 0810",
        TOWNS: "Katherine 0850, Alice Springs 0870, Tennant Creek 0860, Nhulunbuy 0880",
    },
}


def places() -> tuple[Place, ...]:
    """Every suburb and town of the lists above."""
    return tuple(
        place(entry, city, state)
        for state, cities in SUBURBS.items()
        for city, suburbs in cities.items()
        for entry in listed(suburbs)
    )


def place(entry: str, city: str, state: str) -> Place:
    """The place that ``"Newtown 2042"`` names."""
    suburb, _, post_code = entry.rpartition(" ")
    area_code = ACROSS_THE_BORDER.get(suburb, AREA_CODES[state])
    return Place(suburb, city or suburb, state, post_code, area_code, region(suburb, state))


def region(suburb: str, state: str) -> str:
    """Where the price guide places it (interface.md 2.9)."""
    if suburb in VERY_REMOTE:
        return PriceGuideRegion.VERY_REMOTE.value
    if suburb in REMOTE:
        return PriceGuideRegion.REMOTE.value
    if state in EASTERN:
        return PriceGuideRegion.ACT_NSW_QLD_VIC.value
    return PriceGuideRegion.NT_SA_TAS_WA.value


PLACES = places()

STREETS = tuple(
    f"{name} {kind}"
    for kind, named in {
        "Street": """
            Acacia, Albert, Banksia, Barkly, Church, Elizabeth, Fitzroy, George, High, King, Murray, Park,
            Queen, Railway, Station, Victoria, Wattle, William, Bourke, Collins, Hunter, Macquarie, York
        """,
        "Road": "Beach, Bridge, Canterbury, Forest, Grange, Lake, Mill, Old Coach, Pacific, Ridge, River",
        "Avenue": "Boronia, Grevillea, Hakea, Jacaranda, Kurrajong, Lilly Pilly, Melaleuca, Riverside",
        "Drive": "Bellbird, Currawong, Lorikeet, Magpie, Rosella, Kookaburra",
        "Crescent": "Anzac, Coolibah, Myrtle, Sunset, Waratah",
        "Court": "Fernleigh, Heath, Ironbark, Lomandra, Tea Tree",
        "Parade": "Harbour, Marine, Ocean, Regatta",
    }.items()
    for name in listed(named)
)
