// The columns that keep names unique whatever their case.
module.exports = (service) => {
  service.before("CREATE", "client", ({ data }) => {
    data.business_name_key = data.business_name.toLowerCase();
    data.unique_code_key = data.unique_code.toLowerCase();
  });
};
