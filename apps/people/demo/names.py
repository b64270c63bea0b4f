"""First and last names as they are met in Australia, grouped so that a first name suits its last name."""

from __future__ import annotations

from dataclasses import dataclass

from apps.people.choices import Gender


@dataclass(frozen=True)
class Names:
    """The names of families from one part of the world."""

    weight: int  # in a hundred people
    women: tuple[str, ...]
    men: tuple[str, ...]
    last: tuple[str, ...]

    def first(self, gender: str) -> tuple[str, ...]:
        """The first names for a gender; all of them for somebody who did not say."""
        if gender == Gender.FEMALE:
            return self.women
        return self.men if gender == Gender.MALE else self.women + self.men


def listed(text: str) -> tuple[str, ...]:
    """``("Ava", "Li Na")`` for ``"Ava, Li Na"``, over as many lines as it takes."""
    return tuple(name.strip() for name in text.split(","))


def names(weight: int, women: str, men: str, last: str) -> Names:
    return Names(weight, listed(women), listed(men), listed(last))


ENGLISH = names(
    38,
    women="""
        Amelia, Charlotte, Olivia, Isla, Mia, Ava, Grace, Ella, Harper, Evelyn, Chloe, Sophie, Ruby,
        Matilda, Lucy, Emily, Hannah, Jessica, Sarah, Rebecca, Lauren, Megan, Nicole, Michelle, Karen,
        Susan, Margaret, Judith, Beverley, Heather, Zoë, Renée, Tahlia, Georgia, Imogen, Poppy
    """,
    men="""
        Oliver, Noah, Jack, William, Henry, Lucas, Thomas, James, Charlie, Ethan, Lachlan, Cooper, Harrison,
        Max, Samuel, Benjamin, Joshua, Daniel, Matthew, Andrew, Christopher, Michael, David, Peter, Robert,
        Graeme, Kevin, Trevor, Barry, Ian, Hamish, Angus, Darcy, Flynn, Jarrod, Nathan
    """,
    last="""
        Smith, Jones, Williams, Brown, Wilson, Taylor, Johnson, White, Martin, Anderson, Thompson, Walker,
        Harris, Lewis, Robinson, Clarke, Hall, Allen, Wright, King, Green, Baker, Adams, Hill, Mitchell,
        Carter, Phillips, Turner, Parker, Edwards, Collins, Stewart, Morris, Rogers, Reed, Cook, Bailey,
        Cooper, Richardson, Cox, Ward, Watson, Brooks, Bennett, Gray, Hughes, Price, Foster, Butler,
        Simmons, Barnes, Fisher, Henderson, Coleman, Jenkins, Perry, Powell, Long, Patterson, Hayes, Bryant,
        Russell, Griffiths, Hamilton, Graham, Wallace, Woods, Cole, West, Owens, Reynolds, Ellis, Harrison,
        Gibson, Marshall, Webb, Tucker, Porter, Hunter, Hicks, Crawford, Dixon, Hunt, Palmer, Stone, Fox,
        Rose, Chapman, Whitfield, Ashworth, Pemberton, Hargreaves, Attwood, Lawson, Mercer, Nolan, Osborne,
        Quilty, Radford, Sheldon, Thornton, Underwood, Vickers, Wakefield, Yates
    """,
)
CELTIC = names(
    12,
    women="Bridget, Siobhán, Fiona, Niamh, Catriona, Maeve, Erin, Shannon, Colleen, Orla, Ailsa, Rhiannon",
    men="Liam, Patrick, Declan, Sean, Callum, Ewan, Brendan, Aidan, Connor, Fergus, Rhys, Rory",
    last="""
        Murphy, Kelly, O'Brien, Ryan, O'Connor, Walsh, O'Sullivan, McCarthy, Doyle, Gallagher, Kennedy,
        Lynch, Murray, Quinn, Moore, McLoughlin, Byrne, O'Neill, Campbell, MacDonald, McKenzie, Fraser,
        Sinclair, McGregor, Buchanan, Drummond, Llewellyn, Pritchard, Davies, Evans
    """,
)
GREEK = names(
    5,
    women="Eleni, Sofia, Katerina, Maria, Despina, Vasiliki, Anastasia, Georgia",
    men="Nikolaos, Georgios, Dimitri, Kosta, Yianni, Stavros, Theo, Panagiotis",
    last="""
        Papadopoulos, Nikolaidis, Georgiou, Dimitriou, Konstantinou, Pappas, Katsaros, Vlahos, Economou,
        Theodorou, Karagiannis, Angelopoulos, Stavrou, Kouros
    """,
)
ITALIAN = names(
    6,
    women="Giulia, Francesca, Chiara, Rosa, Carmela, Antonella, Bianca, Lucia",
    men="Marco, Giuseppe, Antonio, Luca, Salvatore, Domenico, Matteo, Rocco",
    last="""
        Rossi, Russo, Ferrari, Esposito, Bianchi, Romano, Colombo, Ricci, Marino, Greco, De Luca, Conti,
        Costa, Giordano, Rizzo, Lombardi, Moretti, Barbieri, Fontana, Caruso
    """,
)
VIETNAMESE = names(
    6,
    women="Linh, Thuy, Huong, Mai, Ngoc, Lan, Kim, Phuong",
    men="Minh, Tuan, Duc, Hung, Quang, Thanh, Bao, Long",
    last="""
        Nguyen, Tran, Le, Pham, Huynh, Hoang, Phan, Vu, Vo, Dang, Bui, Do, Ho, Ngo, Duong, Ly, Truong, Dinh
    """,
)
CHINESE = names(
    7,
    women="Mei, Xiu Ying, Li Na, Jing, Yan, Hui, Xin Yi, Wen",
    men="Wei, Jun, Hao, Ming, Jian, Lei, Zi Hao, Chen",
    last="""
        Wang, Li, Zhang, Liu, Chen, Yang, Huang, Zhao, Wu, Zhou, Xu, Sun, Ma, Zhu, Lin, Guo, Chan, Wong,
        Cheung, Leung, Lam, Ng, Tan, Lim
    """,
)
INDIAN = names(
    9,
    women="Priya, Ananya, Divya, Kavita, Sunita, Harpreet, Lakshmi, Meera, Aisha, Nisha",
    men="Arjun, Rahul, Vikram, Sanjay, Gurpreet, Rohan, Anil, Suresh, Aarav, Manpreet",
    last="""
        Singh, Kaur, Sharma, Patel, Kumar, Gupta, Reddy, Nair, Iyer, Mehta, Joshi, Desai, Verma, Rao, Gill,
        Sandhu, Dhillon, Banerjee, Chatterjee, Menon, Pillai, Perera, Fernando, Silva, Bhatt, Kapoor,
        Malhotra, Naidu
    """,
)
ARABIC = names(
    5,
    women="Fatima, Layla, Maryam, Noor, Zainab, Rania, Yasmin, Hala",
    men="Mohammed, Ahmed, Ali, Omar, Youssef, Khaled, Elias, Tariq",
    last="""
        Haddad, Khoury, Hassan, Ibrahim, Saleh, Mansour, Nasser, Khalil, Aziz, Hamdan, El-Masri, Abboud,
        Chahine, Issa, Taleb, Younan
    """,
)
FIRST_NATIONS = names(
    4,
    women="Kirra, Marli, Alinta, Lowanna, Tarni, Jedda, Merindah, Allira",
    men="Jarrah, Koa, Yarran, Jandamarra, Jai, Tyson, Kobi, Warrick",
    last="""
        Wanganeen, Karpany, Kickett, Nona, Mosby, Bonson, Ah Chee, Ugle, Sailor, Bamblett, Roberts, Simpson,
        Blair, Saunders, Dann
    """,
)
PACIFIC_AND_FILIPINO = names(
    4,
    women="Sina, Leilani, Mele, Ana, Rosario, Maricel, Jasmine, Tala",
    men="Sione, Tevita, Manu, Ioane, Jose, Ramon, Angelo, Wiremu",
    last="""
        Fonoti, Tuilagi, Leota, Taufa, Latu, Faleolo, Tamihana, Ngata, Santos, Reyes, Cruz, Bautista,
        Garcia, Mendoza, Dela Cruz, Villanueva
    """,
)
EUROPEAN = names(
    4,
    women="Ivana, Jelena, Agnieszka, Katarzyna, Marija, Ingrid, Anneke, Chantal",
    men="Goran, Zoran, Tomasz, Piotr, Dragan, Pieter, Hans, Matthias",
    last="""
        Kovačević, Horvat, Petrović, Jovanović, Novak, Kowalski, Nowak, Wiśniewski, Van der Berg, De Vries,
        Jansen, Müller, Schmidt, Weber, Du Plessis, Botha, Kaya, Yılmaz
    """,
)

ORIGINS = (
    ENGLISH,
    CELTIC,
    GREEK,
    ITALIAN,
    VIETNAMESE,
    CHINESE,
    INDIAN,
    ARABIC,
    FIRST_NATIONS,
    PACIFIC_AND_FILIPINO,
    EUROPEAN,
)
#: One entry for each person in a hundred: a choice from it is a choice by weight.
HUNDRED = tuple(origin for origin in ORIGINS for _ in range(origin.weight))
