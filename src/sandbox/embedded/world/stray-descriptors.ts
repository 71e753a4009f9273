import { readdirSync, readFileSync } from 'node:fs'

const closeOnExec = 0o2000000

/**
 * The descriptors that every child of this process would inherit. Node marks its own, and those it was started with as
 * far as the first gap; what lies behind it belongs to whoever started this program, and can be anything.
 */
export function strayDescriptors(): number[] {
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((descriptor) => descriptor > 2 && isInherited(descriptor))
}

function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0
  } catch {
    // It was the one that the list itself was read from.
    return false
  }
}
