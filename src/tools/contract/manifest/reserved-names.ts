// Of this program, whether or not the configuration of this machine has them. Those that are there are known anyway.
const reserved = new Set(
  `find_tools web_search web_fetch browser exec message react reason session_status tts file_read file_write
  file_edit`.split(/\s+/),
)

/** A name that no folder may take, so that nothing passes for a part of Familiar (SEC-14). */
export function isReservedName(name: string): boolean {
  return reserved.has(name) || /^(cap|mcp)[_-]/.test(name)
}
