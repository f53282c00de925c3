//! The page of tool error codes.

use zori_core::tool::ToolCode;

use super::cell;

pub fn page() -> String {
    let mut page = String::from(
        "# Tool error codes\n\n\
         A failed call answers `{\"ok\":false,\"error\":{\"code\":..,\"message\":..}}`. The code is one of these and never changes;\n\
         the message is written for the model and may. A failed call is not a failure of the program.\n\n\
         | code | meaning |\n|---|---|\n",
    );
    for code in ToolCode::ALL {
        page.push_str(&format!("| `{}` | {} |\n", code.as_str(), cell(code.about())));
    }
    page
}
