import { join } from 'node:path'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import { createTextFileCache } from '../../base/text-file.ts'
import { carrierOf, type VoicePart, voiceParts } from './voice-parts.ts'

/** Written last into the folder of a part: without it, or with another one, the part counts as not there. */
export const markName = 'installed.json'

export function markOf(part: VoicePart): string {
  return `${JSON.stringify({ from: carrierOf(part) })}\n`
}

/** Which parts are whole in `folder`. A part that is installed meanwhile is seen within seconds. */
export function createInstalledParts(folder: string, clock: Clock): (name: VoicePart['name']) => boolean {
  const read = createTextFileCache(clock, 2_000)
  return (name) => {
    const part = voiceParts.find((each) => each.name === name)
    const mark = parseJson(read(join(folder, name, markName)) ?? '', markSchema)
    return part !== undefined && mark.ok && mark.value.from === carrierOf(part)
  }
}

const markSchema = z.object({ from: z.string() })
