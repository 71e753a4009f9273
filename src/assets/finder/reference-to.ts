/** What is written into a message so that it names this: quoted where it would end too early. */
export function referenceTo(kind: 'file' | 'block', path: string): string {
  const sign = kind === 'file' ? '@' : '@@'
  const isPlain = /^[\p{L}\p{N}_./-]*[\p{L}\p{N}_/-]$/u.test(path)
  if (isPlain) return `${sign}${path}`
  const quote = path.includes('"') ? "'" : '"'
  return `${sign}${quote}${path}${quote}`
}
