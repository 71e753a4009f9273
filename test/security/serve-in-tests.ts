import { afterEach } from 'vitest'
import { type ServedFamiliar, serveFamiliar } from './http-support.ts'

export type ServeOptions = Parameters<typeof serveFamiliar>[0]

/** Serves for one test each: what it served is closed after it. */
export function serveInTests(): (options?: ServeOptions) => Promise<ServedFamiliar> {
  const opened: ServedFamiliar[] = []
  afterEach(async () => {
    for (const served of opened.splice(0)) await served.close()
  })
  return async (options = {}) => {
    const served = await serveFamiliar(options)
    opened.push(served)
    return served
  }
}
