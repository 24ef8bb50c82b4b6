import { render } from "preact";
import { App } from "./app.tsx";
import { applyTheme, readTheme } from "./theme.ts";
import "./style/base.css";
import "./style/layout.css";
import "./style/parts.css";
import "./style/code.css";

applyTheme(readTheme());
const root = document.getElementById("app");
if (root === null) throw new Error("The page has no place for the console.");
render(<App />, root);
