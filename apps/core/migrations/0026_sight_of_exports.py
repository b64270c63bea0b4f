from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0025_jobs_of_applications'),
    ]

    operations = [
        migrations.AddField(
            model_name='fileexport',
            name='sight',
            field=models.CharField(db_default='', default='', editable=False, max_length=8),
        ),
    ]
