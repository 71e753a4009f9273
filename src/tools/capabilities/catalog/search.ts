import type { Capability } from '../capability.ts'

export interface FoundCapability {
  capability: Capability
  /** 0 to 1, by words and meaning together. */
  score: number
  /** Of the meaning alone, 0 to 1; 0 where it could not be told. */
  closeness: number
}

/** Capabilities by what they do, at any number of them: an index of words and of vectors, both in memory. */
export interface CapabilitySearch {
  /** Those that serve, best first. By words alone where meaning cannot be told in time. */
  search(query: { userId: string; text: string; limit: number; signal: AbortSignal }): Promise<FoundCapability[]>
  /** One that does the same already, of another name. */
  findDuplicate(wanted: {
    userId: string
    name: string
    description: string
    signal: AbortSignal
  }): Promise<Capability | undefined>
}
