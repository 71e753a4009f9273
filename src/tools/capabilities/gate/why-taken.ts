import type { Capability, CapabilityOrigin } from '../capability.ts'

const origins: Record<CapabilityOrigin, string> = {
  built: 'that Familiar has built',
  written: 'that was registered from a folder',
  imported: 'that was imported',
}

/**
 * Why a capability may not have this name; undefined where it may. Whoever says which one is meant makes a new version of it.
 * Who does not can only go on with what came the same way: a folder takes over neither what was built nor what was imported.
 */
export function whyTaken(
  name: string,
  {
    wanted,
    origin,
    existing,
  }: { wanted: string | undefined; origin: CapabilityOrigin; existing: Capability | undefined },
): string | undefined {
  if (wanted !== undefined) {
    return name === wanted
      ? undefined
      : `manifest.json: name: expected ${JSON.stringify(wanted)}, found ${JSON.stringify(name)}.`
  }
  if (!existing || existing.origin === origin) return undefined
  return `The name ${name} is taken by a capability ${origins[existing.origin]}: choose another name.`
}
