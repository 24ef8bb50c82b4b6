import { render } from "preact";
import "../../dashboard/style/base.css";
import "../../dashboard/style/buttons.css";
import "../../dashboard/style/card.css";
import "../../dashboard/style/code.css";
import "../../dashboard/style/forms.css";
import "../../dashboard/style/notes.css";
import "../../dashboard/style/visible.css";
import "./demo.css";
import { Demo } from "./demo.tsx";

const root = document.getElementById("app");
if (root === null) throw new Error("The page has no place for the demo.");
render(<Demo />, root);
