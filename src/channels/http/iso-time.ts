export function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
