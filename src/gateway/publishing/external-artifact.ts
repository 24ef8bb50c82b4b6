import type { ArtifactType } from "../../core/agent-skills/publication.ts";
import { PUBLICATION_LIMITS } from "../../core/agent-skills/publication.ts";
import { PublicationError } from "../../core/agent-skills/publication-error.ts";
import { fetchInsideOrigin, OriginFetchError, type OriginFetcher } from "../../core/fetch/origin-fetch.ts";
import { IntegrityError, readBounded } from "../../core/integrity.ts";
import { OriginError, type OriginRules, parseOrigin } from "../../core/origin.ts";

const TIMEOUT_MS = 10_000;
const MAX_REDIRECTS = 5;

/**
 * Fetches an artifact that lies elsewhere, so that its digest is one of bytes somebody could have: from a public host, which it does not
 * leave, against a cap, and with a success for an answer. An error page is thus never pinned.
 *
 * @throws {PublicationError} `bad_url`, `fetch_failed`, `too_large`
 */
export async function fetchExternalArtifact(
  url: string,
  type: ArtifactType,
  field: string,
  rules: OriginRules,
  fetcher: OriginFetcher,
): Promise<Uint8Array> {
  const maxBytes = type === "skill-md" ? PUBLICATION_LIMITS.skillMdBytes : PUBLICATION_LIMITS.archiveBytes;
  try {
    const origin = parseOrigin(new URL(url).origin, rules);
    const request = { fetch: fetcher, origin, url: new URL(url), redirects: MAX_REDIRECTS, timeoutMs: TIMEOUT_MS };
    return await fetchInsideOrigin({ ...request, cache: "no-store" }, async (response, signal) => {
      if (response.status < 200 || response.status > 299) {
        throw new PublicationError(
          "fetch_failed",
          `${field}.url`,
          `must be answered with 2xx; ${url} is answered with ${response.status}`,
        );
      }
      return readBounded(response, maxBytes, signal);
    });
  } catch (cause) {
    if (cause instanceof OriginError)
      throw new PublicationError("bad_url", `${field}.url`, sentence(url, cause), { cause });
    if (cause instanceof OriginFetchError)
      throw new PublicationError("fetch_failed", `${field}.url`, sentence(url, cause), { cause });
    if (cause instanceof IntegrityError) {
      const code = cause.code === "too_large" ? "too_large" : "fetch_failed";
      throw new PublicationError(code, `${field}.url`, sentence(url, cause), { cause });
    }
    throw cause;
  }
}

function sentence(url: string, { message }: Error): string {
  return `cannot be published, since the artifact is fetched from ${url}: ${message.replace(/\.$/, "")}`;
}
