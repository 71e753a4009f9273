/** Finding, and sorting conversations. */
export const findStrings = {
  kinds: {
    conversation: 'Conversations',
    message: 'In conversations',
    memory: 'Memory',
    note: 'Notes',
    file: 'Files',
    tool: 'Tools',
    schedule: 'Schedules',
    setting: 'Settings',
  },
  you: 'You',
  searching: 'Searching…',
  insertMention: 'Mention in a message',
  fileCut: 'Only the beginning is shown.',
}

export const organizeStrings = {
  folders: 'Folders',
  newFolder: 'New folder',
  folderName: 'Folder name',
  renameFolder: 'Rename folder',
  removeFolder: 'Remove folder',
  folderRemoved: (name: string) => `${name} was removed. Its conversations are kept.`,
  actionsOfFolder: (name: string) => `Actions for folder ${name}`,
  emptyFolder: 'Drag conversations here, or use “Move to folder”.',
  dropToRemove: 'Drop here to move out of the folder',
  moveToFolder: 'Move to folder',
  noFolder: 'No folder',
  moved: (name: string) => `Moved to ${name}`,
  movedOut: 'Moved out of the folder',
  actionsOf: (title: string) => `Actions for ${title}`,
  select: 'Select',
  selected: (count: number) => `${count} selected`,
  selectNamed: (title: string) => `Select ${title}`,
  archive: 'Archive',
  unarchive: 'Unarchive',
  archived: (count: number) => (count === 1 ? 'Archived' : `${count} conversations archived`),
  unarchived: 'Unarchived',
  delete: 'Delete',
  deleted: (count: number) => (count === 1 ? 'Conversation deleted' : `${count} conversations deleted`),
  restored: 'Restored',
  restore: 'Restore',
  recentlyDeleted: 'Recently deleted',
  deletedHelp: 'Deleted conversations are removed for good after 30 days.',
  nothingDeleted: 'No deleted conversations',
  export: 'Export',
  exportTitle: (count: number) => (count === 1 ? 'Export conversation' : `Export ${count} conversations`),
  formats: {
    md: 'Markdown',
    json: 'JSON',
    html: 'Web page (HTML), to share',
  },
  contains: (messages: number, files: number) =>
    `The file contains ${messages === 1 ? '1 message' : `${messages} messages`}${
      files === 0 ? '' : ` and ${files === 1 ? 'the name of 1 file' : `the names of ${files} files`}`
    }.`,
  containsNot: 'Thinking, tool output and recalled memories are left out.',
  htmlHint:
    'Pictures up to 1 MB are included. The page runs no scripts and loads nothing. Anyone who has the file can read it.',
  counting: 'Counting messages…',
  download: 'Download',
}
