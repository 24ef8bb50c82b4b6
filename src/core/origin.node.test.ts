// Node's URL parser and workerd's are different programs: the same cases hold in both.
import "./origin.test.ts";
import "./origin-path.test.ts";
