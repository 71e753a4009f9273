// undici's index also loads websockets, mocks, caches and proxies: 20 ms and 9 MB that the daemon never uses.
declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici'
  export = Agent
}

declare module 'undici/lib/web/fetch/index.js' {
  import { fetch } from 'undici'

  const parts: { fetch: typeof fetch }
  export = parts
}
