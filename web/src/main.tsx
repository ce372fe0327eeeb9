import { render } from "preact";
import { App } from "./app";
import { startWords } from "./i18n";
import { startConnection } from "./state/connection";
import { startJobs } from "./state/jobs";
import { startKeys } from "./state/keys";
import { startRouting } from "./state/location";
import { startPreferences } from "./state/preferences";
import { startTabs } from "./state/tabs";
import { startWorkspaces } from "./state/workspaces";
import "./theme.css";
import "./styles/controls.css";
import "./styles/parts.css";
import "./styles/panels.css";
import "./styles/frame.css";

startPreferences();
startRouting();
startKeys();
startTabs();
startConnection();
startWorkspaces();
startJobs();

const place = document.getElementById("app");
void startWords().then(() => place && render(<App />, place));
