import { EgressError } from './egress-error.ts'

const redirectStatuses = new Set([301, 302, 303, 307, 308])
/** What may go on to another origin: nothing that could be a credential, whatever its name. */
const harmlessHeaders = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

export interface RedirectTarget {
  url: URL
  init: RequestInit
}

/** What a redirect can be told from. */
interface Answered {
  status: number
  location: string | null
}

/** The request that a redirect asks for; undefined where the response is an answer. */
export function followRedirect(answered: Answered, url: URL, init: RequestInit): RedirectTarget | undefined {
  const { status, location } = answered
  if (!redirectStatuses.has(status) || location === null) return undefined
  if (!URL.canParse(location, url.href))
    throw new EgressError('blocked_url', `${url.hostname} redirects to a broken address`)
  const target = new URL(location, url)
  const headers = new Headers(init.headers)
  if (target.origin !== url.origin) {
    for (const name of [...headers.keys()]) if (!harmlessHeaders.has(name)) headers.delete(name)
  }
  if (!becomesGet(status, init.method)) {
    if (init.body instanceof ReadableStream) {
      throw new EgressError(
        'body_not_replayable',
        `${url.hostname} redirects a request whose body can be sent only once`,
      )
    }
    return { url: target, init: { ...init, headers } }
  }
  headers.delete('content-type')
  return { url: target, init: { ...init, headers, method: 'GET', body: null } }
}

function becomesGet(status: number, method = 'GET'): boolean {
  const name = method.toUpperCase()
  if (status === 303) return name !== 'GET' && name !== 'HEAD'
  return (status === 301 || status === 302) && name === 'POST'
}
