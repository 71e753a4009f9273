import type { MiddlewareHandler } from 'hono'
import { errorReply } from '../error-reply.ts'
import type { HttpEnv } from '../http-dependencies.ts'

const ownNames = ['localhost', '127.0.0.1', '[::1]']

/**
 * A name that an attacker controls can be made to point at this machine, and then the browser takes a page of theirs
 * for one of ours. The name in the request gives it away.
 */
export function hostGuard(allowedHosts: readonly string[]): MiddlewareHandler<HttpEnv> {
  const allowed = new Set([...ownNames, ...allowedHosts.map((host) => host.toLowerCase())])
  const isAllowed = (host: string) => allowed.has(host) || allowed.has(withoutPort(host))

  return async (context, next) => {
    const host = context.req.header('host')?.toLowerCase()
    if (!host || !isAllowed(host)) {
      return errorReply('forbidden', 'This server does not answer to that host name. See allowed_hosts in [http].')
    }
    // A request to a whole URL names a host twice, and the one in the URL counts.
    if (context.env?.incoming?.url?.startsWith('/') === false && !isAllowed(new URL(context.req.url).host)) {
      return errorReply('forbidden', 'This server does not answer to that host name.')
    }
    return next()
  }
}

function withoutPort(host: string): string {
  return host.replace(/:\d{1,5}$/, '')
}
