/** Not `/tools`: that path belongs to programs, and a reload there would not come back to the page. */
export const toolsPath = '/toolbox'

/** Where a tool is looked at, by the name that a model calls it by. */
export function toolPath(name: string): string {
  return name.startsWith('cap_')
    ? `/capabilities/${encodeURIComponent(name.slice('cap_'.length))}`
    : `${toolsPath}/${encodeURIComponent(name)}`
}
