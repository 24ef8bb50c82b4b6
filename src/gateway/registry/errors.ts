export type RegistryErrorCode =
  /** No row with this id. */
  | "not_found"
  /** The thing exists; `id` names it. */
  | "already_exists"
  /** The state machine has no such step from the present state. */
  | "bad_state"
  /** A grant names an origin that is not registered. */
  | "unknown_origin"
  /** The probe an activation refers to is not the latest one. */
  | "probe_changed"
  /** The latest probe found nothing that could be approved. */
  | "no_skills"
  /** No probe saw this version of a skill, or it is forgotten. */
  | "unknown_version"
  /** The bytes of a skill version are not kept. */
  | "not_stored"
  /** The hash of a skill version is revoked; `id` names the revocation. */
  | "hash_revoked"
  /** As many attestations of an origin are stored as may be. */
  | "too_many_attestations"
  /** A client, or an operator, holds as many usable tokens as it may. */
  | "too_many_tokens"
  /** Sites have as many hosts as every isolate can know. */
  | "too_many_hosts"
  /** Another version of the site was published meanwhile. */
  | "version_changed"
  /** A site has no such version, or it is kept no more. */
  | "no_version"
  /** Nobody could administer the gateway any more. */
  | "last_admin"
  /** Other mutations won the audit chain every time; nothing was changed, a retry is safe. */
  | "busy";

/** An expected refusal of the registry. Nothing was changed. */
export class RegistryError extends Error {
  override readonly name = "RegistryError";
  readonly code: RegistryErrorCode;
  /** The id of the row in question, where one exists. */
  readonly id: string | null;
  /** The member of the request that is refused, dots between the parts, where it is one. */
  readonly field: string | null;

  constructor(code: RegistryErrorCode, message: string, id: string | null = null, field: string | null = null) {
    super(message);
    this.code = code;
    this.id = id;
    this.field = field;
  }
}
