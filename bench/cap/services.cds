// The tables of the product: CAP calls the table of `people.client` people_client.
@path: '/cap'
service people {
  @cds.persistence.exists
  entity contact {
    key guid : UUID;
    first_name : String(90);
    last_name : String(90);
    archive_date : Timestamp;
  }
  @cds.persistence.exists
  entity client {
    key guid : UUID;
    business_name : String(255);
    @cds.api.ignore business_name_key : String(765);
    business_number : String(90);
    unique_code : String(90);
    @cds.api.ignore unique_code_key : String(270);
    is_self : Boolean default false;
    external_reference : String(90);
    business_phone : String(90);
    business_phone2 : String(90);
    business_fax : String(90);
    web_address : String(90);
    creation_date : Timestamp @cds.on.insert: $now;
    modify_date : Timestamp @cds.on.insert: $now @cds.on.update: $now;
    archive_date : Timestamp;
    street_address : String(90);
    street_address2 : String(90);
    suburb : String(90);
    city : String(90);
    state : String(90);
    country : String(90);
    post_code : String(90);
    postal_street_address : String(90);
    postal_street_address2 : String(90);
    postal_suburb : String(90);
    postal_city : String(90);
    postal_state : String(90);
    postal_post_code : String(90);
    key_contact_id : UUID;
    key_contact : Association to contact on key_contact.guid = key_contact_id;
  }
}
