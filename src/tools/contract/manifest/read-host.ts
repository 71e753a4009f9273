import { readHostPattern } from '../../../egress/host-pattern.ts'
import type { Json } from '../../../protocol/json.ts'

/** A host as a tool declares it and the owner allows it, always in the same spelling. Undefined where it is none. */
export function readHost(text: string): string | undefined {
  const read = readHostPattern(text.trim())
  if (!read.ok) return undefined
  const { host, isWildcard, port } = read.value
  const name = host.includes(':') ? `[${host}]` : host
  return `${isWildcard ? '*.' : ''}${name}${port === undefined ? '' : `:${port}`}`
}

/** The host of a value that is a web address. */
export function readUrlHost(value: Json): string | undefined {
  if (typeof value !== 'string' || !/^https?:\/\//i.test(value) || !URL.canParse(value)) return undefined
  const { hostname, port } = new URL(value)
  return readHost(port ? `${hostname}:${port}` : hostname)
}
