/** A WebAssembly file is imported as a compiled module (rule `CompiledWasm` of wrangler.toml). */
declare module "*.wasm" {
  const module: WebAssembly.Module;
  export default module;
}
