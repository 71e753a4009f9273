/** What stands behind the first slash and name of a path, `x y` of `/blocks/x%20y`; undefined where nothing does. */
export function partBehind(path: string): string | undefined {
  const [, , part] = path.split('/')
  if (!part) return undefined
  try {
    return decodeURIComponent(part)
  } catch {
    // Somebody typed the address: whatever it is, nothing has this name.
    return part
  }
}
