import type { Duplex } from 'node:stream'

export interface ProxyLimits {
  connections: number
  headerBytes: number
  /** In both directions and all connections together. One byte more ends all of them. */
  bytes: number
  /** To reach a server, and to send a whole request head. */
  connectMs: number
  /** Without a byte in either direction. */
  idleMs: number
}

/** What the ways through a proxy share: limits, and everything that must end with it. */
export interface ProxyWays {
  limits: ProxyLimits
  count(bytes: number): void
  follow(stream: Duplex): void
}
