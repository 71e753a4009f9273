import { plural } from '../format.ts'

export const findStrings = {
  kinds: {
    conversation: 'المحادثات',
    message: 'داخل المحادثات',
    memory: 'الذاكرة',
    note: 'الملاحظات',
    file: 'الملفات',
    tool: 'الأدوات',
    schedule: 'الجداول',
    setting: 'الإعدادات',
  },
  you: 'أنت',
  searching: 'جارٍ البحث…',
  insertMention: 'ذكر في رسالة',
  fileCut: 'تُعرض البداية فقط.',
}

export const organizeStrings = {
  folders: 'المجلدات',
  newFolder: 'مجلد جديد',
  folderName: 'اسم المجلد',
  renameFolder: 'إعادة تسمية المجلد',
  removeFolder: 'إزالة المجلد',
  folderRemoved: (name: string) => `أُزيل ${name}. محادثاته محفوظة.`,
  actionsOfFolder: (name: string) => `إجراءات المجلد ${name}`,
  emptyFolder: 'اسحب المحادثات إلى هنا أو استخدم «نقل إلى مجلد».',
  dropToRemove: 'أفلِت هنا للإخراج من المجلد',
  moveToFolder: 'نقل إلى مجلد',
  noFolder: 'بلا مجلد',
  moved: (name: string) => `تم النقل إلى ${name}`,
  movedOut: 'تم الإخراج من المجلد',
  actionsOf: (title: string) => `إجراءات ${title}`,
  select: 'تحديد',
  selected: (count: number) =>
    plural(count, {
      one: 'حُدِّدت محادثة واحدة',
      two: 'حُدِّدت محادثتان',
      few: 'حُدِّدت # محادثات',
      many: 'حُدِّدت # محادثة',
      other: 'حُدِّدت # محادثة',
    }),
  selectNamed: (title: string) => `تحديد ${title}`,
  archive: 'أرشفة',
  unarchive: 'إلغاء الأرشفة',
  archived: (count: number) =>
    plural(count, {
      one: 'تمت الأرشفة',
      two: 'أُرشفت محادثتان',
      few: 'أُرشفت # محادثات',
      many: 'أُرشفت # محادثة',
      other: 'أُرشفت # محادثة',
    }),
  unarchived: 'أُلغيت الأرشفة',
  delete: 'حذف',
  deleted: (count: number) =>
    plural(count, {
      one: 'حُذفت المحادثة',
      two: 'حُذفت محادثتان',
      few: 'حُذفت # محادثات',
      many: 'حُذفت # محادثة',
      other: 'حُذفت # محادثة',
    }),
  restored: 'تمت الاستعادة',
  restore: 'استعادة',
  recentlyDeleted: 'المحذوفة مؤخرًا',
  deletedHelp: 'تُزال المحادثات المحذوفة نهائيًا بعد 30 يومًا.',
  nothingDeleted: 'لا توجد محادثات محذوفة',
  export: 'تصدير',
  exportTitle: (count: number) =>
    plural(count, {
      one: 'تصدير المحادثة',
      two: 'تصدير محادثتين',
      few: 'تصدير # محادثات',
      many: 'تصدير # محادثة',
      other: 'تصدير # محادثة',
    }),
  formats: {
    md: 'Markdown',
    json: 'JSON',
    html: 'صفحة ويب (HTML) للمشاركة',
  },
  contains: (messages: number, files: number) =>
    `يحتوي الملف على ${plural(messages, { one: 'رسالة واحدة', two: 'رسالتين', few: '# رسائل', many: '# رسالة', other: '# رسالة' })}${
      files === 0
        ? ''
        : ` وعلى ${plural(files, { one: 'اسم ملف واحد', two: 'اسمَي ملفين', few: 'أسماء # ملفات', many: 'أسماء # ملفًا', other: 'أسماء # ملف' })}`
    }.`,
  containsNot: 'لا يشمل التفكير ولا مُخرجات الأدوات ولا الذكريات المستخدمة.',
  htmlHint: 'تُضمَّن الصور حتى 1 م.ب. لا تشغّل الصفحة نصوصًا برمجية ولا تحمّل شيئًا. يمكن لكل من لديه الملف قراءته.',
  counting: 'جارٍ عدّ الرسائل…',
  download: 'تنزيل',
}
