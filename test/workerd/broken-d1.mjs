// A D1 service that is down: what the platform's own D1 client makes of its answers is what the gateway then sees.
export default {
  fetch() {
    return new Response("error code: 1105", { status: 500 });
  },
};
