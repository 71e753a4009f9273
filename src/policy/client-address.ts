import ipaddr from 'ipaddr.js'

/**
 * One text for one client, however its address is written: `::ffff:127.0.0.1` is `127.0.0.1`. IPv6 counts by /64, since
 * that is what one household or server is given: by single address, anyone has more of them than a limiter can hold.
 */
export function canonicalAddress(address: string | undefined): string {
  const text = (address ?? '').replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  if (!ipaddr.isValid(text)) return 'unknown'
  const parsed = ipaddr.process(text)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  return `${new ipaddr.IPv6([...parsed.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`
}
