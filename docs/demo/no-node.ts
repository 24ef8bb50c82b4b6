// What this page has of Node's modules. Only the verifier of Sigstore bundles asks for them, which the page never does.
export default {};
export const isDeepStrictEqual = undefined;
