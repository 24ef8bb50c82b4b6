import type { Site } from "../api/types.ts";
import { Check, numberOf, Select, TextArea, TextField, textOf } from "../ui/form.tsx";

const MEANS = [
  ["header", "whoever sends an Authorization header"],
  ["verified", "clients that may use the site's origin"],
] as const;
const ADDRESSES = [
  ["pinned", "with the digest of their bytes"],
  ["plain", "as they were published"],
] as const;

export const meansText = (means: Site["authenticatedMeans"]) => MEANS.find(([value]) => value === means)?.[1] ?? means;
export const addressesText = (urls: Site["artifactUrls"]) => ADDRESSES.find(([value]) => value === urls)?.[1] ?? urls;

/** The settings of a site in a form: of a new one, or of one that there is. */
export function SiteFields({ site }: { readonly site?: Site }) {
  return (
    <>
      <TextArea
        label="Hosts"
        name="hosts"
        rows={3}
        spellcheck={false}
        defaultValue={site?.hosts.join("\n") ?? ""}
        placeholder="skills.example"
        hint="Hosts of this site alone, one a line, each routed to the Worker. May be left out: the site is at /s/<name>/ in any case."
      />
      <Select
        label="Authenticated callers"
        name="authenticatedMeans"
        value={site?.authenticatedMeans ?? "header"}
        hint="Who is shown skills and files that are for authenticated callers. Agent Skills v0.2.0 takes any Authorization header, whatever it says."
        options={MEANS}
      />
      <Select
        label="Addresses in manifests"
        name="artifactUrls"
        value={site?.artifactUrls ?? "pinned"}
        hint="With the digest, no publish comes between a manifest and what it names. Without it, whoever read a manifest before a publish gets other bytes than it says."
        options={ADDRESSES}
      />
      <TextField
        label="Grace period, seconds"
        name="graceS"
        inputMode="numeric"
        required
        defaultValue={String(site?.graceS ?? 7 * 24 * 3_600)}
        hint="For so long bytes that were replaced stay readable by their digest; at most 31 days."
      />
      <Check
        label="Repeat the skills of manifests as entries"
        name="entriesAlias"
        defaultChecked={site?.entriesAlias ?? true}
        hint="For early readers of v0.2.0."
      />
    </>
  );
}

/** What the form says, as the API takes it. */
export function siteSettings(form: FormData) {
  return {
    hosts: textOf(form, "hosts")
      .split(/[\s,]+/)
      .filter((host) => host !== ""),
    authenticatedMeans: textOf(form, "authenticatedMeans"),
    artifactUrls: textOf(form, "artifactUrls"),
    graceS: numberOf(form, "graceS"),
    entriesAlias: form.get("entriesAlias") === "on",
  };
}
