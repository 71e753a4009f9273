/** A file of a tool's folder, read whole. */
export interface FolderFile {
  /** Inside the folder, with `/`. */
  path: string
  bytes: Uint8Array
  isExecutable: boolean
}

/** Everything that a tool's folder held at one moment. */
export interface ToolFolder {
  name: string
  directory: string
  /** In order of path. */
  files: readonly FolderFile[]
  /** Of every path, byte and mode in it. */
  hash: string
  /** Why somebody else than the owner could have written it; null where nobody could. */
  isShared: string | null
}

export function readFolderText(folder: ToolFolder, path: string): string | undefined {
  const file = folder.files.find((one) => one.path === path)
  return file && new TextDecoder().decode(file.bytes)
}
