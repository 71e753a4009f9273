import { plural } from '../format.ts'

/** Finding, and sorting conversations. */
export const findStrings = {
  kinds: {
    conversation: '会話',
    message: '会話の内容',
    memory: '記憶',
    note: 'ノート',
    file: 'ファイル',
    tool: 'ツール',
    schedule: 'スケジュール',
    setting: '設定',
  },
  you: 'あなた',
  searching: '検索中…',
  insertMention: 'メッセージで指定',
  fileCut: '先頭のみ表示しています。',
}

export const organizeStrings = {
  folders: 'フォルダー',
  newFolder: '新しいフォルダー',
  folderName: 'フォルダー名',
  renameFolder: 'フォルダー名を変更',
  removeFolder: 'フォルダーを削除',
  folderRemoved: (name: string) => `「${name}」を削除しました。中の会話は残ります。`,
  actionsOfFolder: (name: string) => `フォルダー「${name}」の操作`,
  emptyFolder: 'ここに会話をドラッグするか、「フォルダーに移動」を使ってください。',
  dropToRemove: 'ここにドロップしてフォルダーから出す',
  moveToFolder: 'フォルダーに移動',
  noFolder: 'フォルダーなし',
  moved: (name: string) => `「${name}」に移動しました`,
  movedOut: 'フォルダーから出しました',
  actionsOf: (title: string) => `「${title}」の操作`,
  select: '選択',
  selected: (count: number) => plural(count, { other: '# 件を選択中' }),
  selectNamed: (title: string) => `「${title}」を選択`,
  archive: 'アーカイブ',
  unarchive: 'アーカイブを解除',
  archived: (count: number) =>
    count === 1 ? 'アーカイブしました' : plural(count, { other: '会話 # 件をアーカイブしました' }),
  unarchived: 'アーカイブを解除しました',
  delete: '削除',
  deleted: (count: number) =>
    count === 1 ? '会話を削除しました' : plural(count, { other: '会話 # 件を削除しました' }),
  restored: '復元しました',
  restore: '復元',
  recentlyDeleted: '最近削除した会話',
  deletedHelp: '削除した会話は 30 日後に完全に削除されます。',
  nothingDeleted: '削除した会話はありません',
  export: '書き出す',
  exportTitle: (count: number) => (count === 1 ? '会話を書き出す' : plural(count, { other: '会話 # 件を書き出す' })),
  formats: {
    md: 'Markdown',
    json: 'JSON',
    html: 'ウェブページ（HTML、共有用）',
  },
  contains: (messages: number, files: number) =>
    `ファイルにはメッセージ ${plural(messages, { other: '# 件' })}${
      files === 0 ? '' : `とファイル名 ${plural(files, { other: '# 件' })}`
    }が含まれます。`,
  containsNot: '思考、ツールの出力、思い出した記憶は含まれません。',
  htmlHint:
    '1 MB までの画像が含まれます。ページはスクリプトを実行せず、何も読み込みません。ファイルを持っている人は誰でも読めます。',
  counting: 'メッセージを数えています…',
  download: 'ダウンロード',
}
