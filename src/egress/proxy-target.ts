import type { Parsed } from '../base/json.ts'

const authority = /^(\[[0-9a-f:.]+\]|[^\s/\\?#@:[\]]+):([0-9]{1,5})$/i

/** What a client of the proxy asks for. The form is that of the two kinds of request; nothing is guessed from a Host header. */
export function readProxyTarget(method: string, target: string): Parsed<URL> {
  return method === 'CONNECT' ? readAuthority(target) : readAbsolute(target)
}

/** `example.com:443`, of a tunnel: always with its port. */
function readAuthority(text: string): Parsed<URL> {
  const port = Number(authority.exec(text)?.[2] ?? 0)
  // Written as https, whatever will be spoken in it: what counts is the host as it is normalised there.
  if (port < 1 || !URL.canParse(`https://${text}/`)) return { ok: false, message: 'CONNECT takes a host and its port' }
  return { ok: true, value: new URL(`https://${text}/`) }
}

/** `http://example.com/path`, of a plain request. */
function readAbsolute(text: string): Parsed<URL> {
  if (!/^http:\/\//i.test(text) || !URL.canParse(text)) {
    return { ok: false, message: 'This is a proxy: it takes requests with a whole http address, and CONNECT for https' }
  }
  return { ok: true, value: new URL(text) }
}
