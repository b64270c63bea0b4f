from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('access', '0003_webhook_pauses'),
        ('people', '0012_participants_of_roles'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='apiapplication',
            name='account_managers',
            field=models.ManyToManyField(blank=True, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='apiapplication',
            name='locations',
            field=models.ManyToManyField(blank=True, related_name='+', to='people.location'),
        ),
        migrations.AddField(
            model_name='apiapplication',
            name='sees_everybody',
            field=models.BooleanField(db_default=True, default=True, help_text='Without it: those only whose account managers work at these locations, in these teams, or are named here, and the records of these.', verbose_name='sees all participants'),
        ),
        migrations.AddField(
            model_name='apiapplication',
            name='teams',
            field=models.ManyToManyField(blank=True, related_name='+', to='people.team'),
        ),
    ]
