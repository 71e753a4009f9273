import { plural } from '../format.ts'

/** Finding, and sorting conversations. */
export const findStrings = {
  kinds: {
    conversation: '对话',
    message: '对话内容',
    memory: '记忆',
    note: '笔记',
    file: '文件',
    tool: '工具',
    schedule: '日程',
    setting: '设置',
  },
  you: '你',
  searching: '正在搜索…',
  insertMention: '在消息中提及',
  fileCut: '仅显示开头部分。',
}

export const organizeStrings = {
  folders: '文件夹',
  newFolder: '新建文件夹',
  folderName: '文件夹名称',
  renameFolder: '重命名文件夹',
  removeFolder: '移除文件夹',
  folderRemoved: (name: string) => `已移除“${name}”，其中的对话会保留。`,
  actionsOfFolder: (name: string) => `文件夹“${name}”的操作`,
  emptyFolder: '将对话拖到这里，或使用“移至文件夹”。',
  dropToRemove: '拖放到此处以移出文件夹',
  moveToFolder: '移至文件夹',
  noFolder: '无文件夹',
  moved: (name: string) => `已移至“${name}”`,
  movedOut: '已移出文件夹',
  actionsOf: (title: string) => `“${title}”的操作`,
  select: '选择',
  selected: (count: number) => plural(count, { other: '已选择 # 项' }),
  selectNamed: (title: string) => `选择“${title}”`,
  archive: '归档',
  unarchive: '取消归档',
  archived: (count: number) => (count === 1 ? '已归档' : plural(count, { other: '已归档 # 个对话' })),
  unarchived: '已取消归档',
  delete: '删除',
  deleted: (count: number) => (count === 1 ? '对话已删除' : plural(count, { other: '已删除 # 个对话' })),
  restored: '已恢复',
  restore: '恢复',
  recentlyDeleted: '最近删除',
  deletedHelp: '已删除的对话将在 30 天后永久移除。',
  nothingDeleted: '没有已删除的对话',
  export: '导出',
  exportTitle: (count: number) => (count === 1 ? '导出对话' : plural(count, { other: '导出 # 个对话' })),
  formats: {
    md: 'Markdown',
    json: 'JSON',
    html: '网页（HTML），用于分享',
  },
  contains: (messages: number, files: number) =>
    `文件包含 ${plural(messages, { other: '# 条消息' })}${
      files === 0 ? '' : `和 ${plural(files, { other: '# 个文件的名称' })}`
    }。`,
  containsNot: '不包含思考过程、工具输出和调取的记忆。',
  htmlHint: '包含不超过 1 MB 的图片。该网页不运行脚本，也不加载任何内容。任何拥有此文件的人都可以阅读。',
  counting: '正在统计消息…',
  download: '下载',
}
