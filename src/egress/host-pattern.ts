import ipaddr from 'ipaddr.js'
import type { Parsed } from '../base/json.ts'

/** A host that a tool declares, as its manifest writes it: `example.com`, `*.example.com`, `example.com:8443`. */
export interface HostPattern {
  /** As `new URL` writes it, without a final dot. Below a wildcard, what has to follow it. */
  host: string
  isWildcard: boolean
  /** Undefined: those of http and https. */
  port: number | undefined
}

const usualPorts = new Set([80, 443])
const written = /^(\*\.)?([^\s/\\?#@*%:]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?$/i

/** Foreign text to a pattern. Only what a tool can mean by a host passes: no scheme, no path, no bare `*` or `*.com`. */
export function readHostPattern(text: string): Parsed<HostPattern> {
  const [, wildcard, name = '', digits] = written.exec(text) ?? []
  const bad = (message: string): Parsed<HostPattern> => ({ ok: false, message })
  if (!URL.canParse(`http://${name}`)) {
    return bad(`${JSON.stringify(text)} is no host; write example.com, *.example.com or example.com:8443`)
  }
  const host = hostOf(new URL(`http://${name}`))
  if (host === '') return bad(`${JSON.stringify(text)} names no host`)
  const port = digits === undefined ? undefined : Number(digits)
  if (port !== undefined && (port < 1 || port > 65_535)) return bad(`${JSON.stringify(text)} has no possible port`)
  const isWildcard = wildcard !== undefined
  if (isWildcard && (ipaddr.isValid(host) || !host.includes('.'))) {
    return bad(`${JSON.stringify(text)} would allow far more than one host and what belongs to it`)
  }
  return { ok: true, value: { host, isWildcard, port } }
}

/** Whether one of the patterns names the host and the port of the URL. */
export function matchesHost(patterns: readonly HostPattern[], url: URL): boolean {
  const host = hostOf(url)
  const port = portOf(url)
  return patterns.some((pattern) => {
    const isHost = pattern.isWildcard ? host.endsWith(`.${pattern.host}`) : host === pattern.host
    return isHost && (pattern.port === undefined ? usualPorts.has(port) : pattern.port === port)
  })
}

export function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
}

/** Without brackets and a final dot. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}
