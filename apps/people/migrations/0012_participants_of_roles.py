from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('people', '0011_clients_by_name'),
    ]

    operations = [
        migrations.AddField(
            model_name='role',
            name='participants',
            field=models.CharField(choices=[('All', 'All participants'), ('Location', "Those looked after at one's location"), ('Teams', "Those looked after by one's teams"), ('Own', 'Those whom one looks after oneself')], db_default='All', default='All', help_text='Whose records staff of this role see: claims, plans, documents and all else of these.', max_length=8, verbose_name='sees'),
        ),
    ]
