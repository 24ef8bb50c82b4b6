import { ArchiveError, archiveLimits, readArchive } from "../../src/core/archive/archive.ts";
import { zlibInflater } from "../../src/core/archive/zlib-inflater.ts";

/** Answers `ok` or the code of the refusal for an archive that is posted, read under the default limits. */
export default {
  async fetch(request: Request): Promise<Response> {
    const bytes = new Uint8Array(await request.arrayBuffer());
    try {
      readArchive(bytes, archiveLimits({}), zlibInflater);
      return new Response("ok");
    } catch (error) {
      if (error instanceof ArchiveError) return new Response(error.code);
      throw error;
    }
  },
};
