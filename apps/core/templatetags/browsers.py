"""Browsers by the names that people know, for the list of one's sessions."""

from django import template

register = template.Library()

#: What a user agent says, most telling first, as most browsers say that they are others too.
BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "SamsungBrowser": "Samsung Internet",
    "Firefox": "Firefox",
    "FxiOS": "Firefox",
    "Chrome": "Chrome",
    "CriOS": "Chrome",
    "Safari": "Safari",
}
SYSTEMS = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "CrOS": "ChromeOS",
    "Mac OS X": "macOS",
    "Linux": "Linux",
}


@register.filter
def browser_name(user_agent: str) -> str:
    """``Chrome on Windows``; the user agent itself where nothing in it is known."""
    browser, system = (
        next((name for word, name in names.items() if word in user_agent), "")
        for names in (BROWSERS, SYSTEMS)
    )
    return " on ".join(filter(None, (browser, system))) or user_agent
