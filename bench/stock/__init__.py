"""The same records served as most would serve them: ModelViewSet, ModelSerializer, PageNumberPagination."""
