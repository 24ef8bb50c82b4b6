/** The version of this package; a test keeps it equal to package.json, which `core` cannot read at run time. */
export const VERSION = "0.1.0";
