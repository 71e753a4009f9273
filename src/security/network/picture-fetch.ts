import { type AllowedHost, hostOf, matchesHost, readHostPattern } from './destinations.ts'
import { createGuardedFetch } from './guarded-fetch.ts'

interface PictureRequest {
  addresses: readonly string[]
  /** In the format of `readHostPattern`. No other host is contacted, not even by a redirect. */
  hosts: readonly string[]
  onRefused(host: string): void
  signal: AbortSignal
}

/**
 * The images of a card as data, by address. Images that cannot be loaded are missing. Rejects only when the signal
 * aborts.
 */
export type FetchPictures = (request: PictureRequest) => Promise<Map<string, string>>

const maxPictures = 12
const maxPictureBytes = 300 * 1024
const maxTotalBytes = 700 * 1024
const maxRedirects = 3
const timeoutMs = 8_000

/**
 * Fetches a card's images from the hosts that its tool may reach, so that viewing a card loads nothing. The type of an
 * image comes from its first bytes, not from its server.
 */
export function createPictureFetch(options: {
  /** Hosts on the owner's network, from the config. A tool must declare them too. */
  listedHosts(): readonly AllowedHost[]
}): FetchPictures {
  return async ({ addresses, hosts, onRefused, signal }) => {
    const patterns = hosts.flatMap((text) => {
      const read = readHostPattern(text)
      return read.ok ? [read.value] : []
    })
    const fetch = createGuardedFetch({ allowedHosts: options.listedHosts(), maxBytes: maxPictureBytes, timeoutMs })

    async function load(address: string): Promise<Uint8Array | undefined> {
      let url = new URL(address)
      for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
        if (url.username !== '' || url.password !== '' || !matchesHost(patterns, url)) {
          onRefused(hostOf(url))
          return undefined
        }
        const answer = await fetch(url, { redirect: 'manual', signal, headers: { accept: 'image/*' } })
        const location = answer.headers.get('location')
        if (answer.status < 300 || answer.status > 399 || location === null) {
          return answer.ok ? new Uint8Array(await answer.arrayBuffer()) : undefined
        }
        await answer.body?.cancel()
        url = new URL(location, url)
      }
      return undefined
    }

    try {
      const asked = addresses.filter((address) => URL.canParse(address)).slice(0, maxPictures)
      // A missing image does not invalidate the card: its description is shown instead.
      const loaded = await Promise.all(asked.map((address) => load(address).catch(() => undefined)))
      signal.throwIfAborted()
      const found = new Map<string, string>()
      let total = 0
      for (const [at, address] of asked.entries()) {
        const bytes = loaded[at]
        const type = bytes && pictureType(bytes)
        if (!type || total + bytes.length > maxTotalBytes) continue
        total += bytes.length
        found.set(address, `data:${type};base64,${Buffer.from(bytes).toString('base64')}`)
      }
      return found
    } finally {
      await fetch.close()
    }
  }
}

/** No SVG: it is a document of its own, with scripts and references. */
function pictureType(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 12)).toString('latin1')
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (/^GIF8[79]a/.test(start)) return 'image/gif'
  return start.startsWith('RIFF') && start.endsWith('WEBP') ? 'image/webp' : undefined
}
