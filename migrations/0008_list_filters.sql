CREATE INDEX `audit_log_actor_action` ON `audit_log` (`actor`,`action`);--> statement-breakpoint
CREATE INDEX `reviewers_registered_active` ON `reviewers` (`registered_at`,`id`) WHERE "reviewers"."revoked_at" IS NULL AND "reviewers"."retired_at" IS NULL;--> statement-breakpoint
CREATE INDEX `reviewers_registered_retired` ON `reviewers` (`registered_at`,`id`) WHERE "reviewers"."revoked_at" IS NULL AND "reviewers"."retired_at" IS NOT NULL;--> statement-breakpoint
CREATE INDEX `reviewers_registered_revoked` ON `reviewers` (`registered_at`,`id`) WHERE "reviewers"."revoked_at" IS NOT NULL;--> statement-breakpoint
CREATE INDEX `revocations_revoked_in_force` ON `revocations` (`revoked_at`,`id`) WHERE "revocations"."lifted_at" IS NULL;--> statement-breakpoint
CREATE INDEX `revocations_revoked_lifted` ON `revocations` (`revoked_at`,`id`) WHERE "revocations"."lifted_at" IS NOT NULL;--> statement-breakpoint
CREATE INDEX `skills_waiting` ON `skills` (`first_seen_at`,`origin_id`,`scope`,`name`,`tool_sha256`) WHERE "skills"."changed" IS NOT NULL OR ("skills"."approved_at" IS NULL AND "skills"."rejected_at" IS NULL);--> statement-breakpoint
CREATE INDEX `skills_rejected` ON `skills` (`first_seen_at`,`origin_id`,`scope`,`name`,`tool_sha256`) WHERE "skills"."approved_at" IS NULL AND "skills"."rejected_at" IS NOT NULL;--> statement-breakpoint
CREATE INDEX `skills_approved` ON `skills` (`first_seen_at`,`origin_id`,`scope`,`name`,`tool_sha256`) WHERE "skills"."approved_at" IS NOT NULL;