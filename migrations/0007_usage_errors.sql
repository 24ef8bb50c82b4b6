CREATE INDEX `usage_errors_client` ON `usage_errors` (`client_id`,`hour`);--> statement-breakpoint
CREATE INDEX `usage_errors_origin` ON `usage_errors` (`origin_id`,`hour`);