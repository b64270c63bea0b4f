"""Addresses of signing in, below ``/admin/``; django-allauth's names are those that it looks up."""

from allauth.account.views import logout, reauthenticate
from allauth.socialaccount.views import login_cancelled, login_error
from django.urls import include, path

from apps.people.authentication import views

urlpatterns = [
    path("login/", views.LoginView.as_view(), name="account_login"),
    path("account/logout/", logout, name="account_logout"),
    path("account/confirm/", reauthenticate, name="account_reauthenticate"),
    path("account/password/", views.PasswordLinkView.as_view(), name="forgotten_password"),
    path(
        "account/password/<uidb64>/<token>/",
        views.PasswordChoiceView.as_view(),
        name="password_reset_confirm",
    ),
    path("account/first/<str:token>/", views.FirstAdministratorView.as_view(), name="first_administrator"),
    path("account/factors/", include("allauth.mfa.urls")),
    path("account/sessions/", include("allauth.usersessions.urls")),
    path("account/provider/<str:provider_id>/login/", views.provider_login, name="openid_connect_login"),
    path(
        "account/provider/<str:provider_id>/login/callback/",
        views.provider_callback,
        name="openid_connect_callback",
    ),
    path("account/provider/cancelled/", login_cancelled, name="socialaccount_login_cancelled"),
    path("account/provider/error/", login_error, name="socialaccount_login_error"),
]
