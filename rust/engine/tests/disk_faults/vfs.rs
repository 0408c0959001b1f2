//! A file layer of SQLite (a VFS) for tests, around that of the platform. On request it fails calls, or records the
//! calls that change the disk.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs;
use std::mem;
use std::path::Path;
use std::ptr;
use std::slice;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs};

/// The calls that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Read,
    Write,
    Sync,
    Truncate,
    Open,
    Delete,
    Lock,
    SharedMemory,
}

impl Call {
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::Write,
        Self::Sync,
        Self::Truncate,
        Self::Open,
        Self::Delete,
        Self::Lock,
        Self::SharedMemory,
    ];
}

/// A fault: call `number` of its kind fails, counted from 1, and if `lasting` every later one too.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub call: Call,
    pub number: usize,
    pub lasting: bool,
}

/// A successful call that changes the disk. Files are numbered; a name may belong to several in turn.
#[derive(Debug, Clone)]
pub enum Change {
    /// A new, empty file.
    Create {
        file: usize,
        name: String,
    },
    Write {
        file: usize,
        offset: usize,
        data: Vec<u8>,
    },
    Truncate {
        file: usize,
        size: usize,
    },
    /// The file is on the disk, and if `folder`, the names in its folder too.
    Sync {
        file: usize,
        folder: bool,
    },
    Delete {
        name: String,
        folder: bool,
    },
}

/// The changes since `record`, in their order.
struct Record {
    names: BTreeMap<String, usize>,
    changes: Vec<Change>,
    files: usize,
}

impl Record {
    /// Return the number of the file of a name, which is a new one unless the name is taken.
    fn file(&mut self, name: &str) -> usize {
        if let Some(file) = self.names.get(name) {
            return *file;
        }
        let (file, name) = (self.files, name.to_owned());
        self.files += 1;
        self.names.insert(name.clone(), file);
        self.changes.push(Change::Create { file, name });
        file
    }
}

struct State {
    fault: Option<Fault>,
    calls: usize,
    failed: usize,
    record: Option<Record>,
}

static STATE: Mutex<State> = Mutex::new(State {
    fault: None,
    calls: 0,
    failed: 0,
    record: None,
});

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Have a call fail, from now on.
pub fn arm(fault: Fault) {
    let mut state = state();
    (state.fault, state.calls, state.failed) = (Some(fault), 0, 0);
}

/// Let every call through again; return the number of calls that failed.
pub fn disarm() -> usize {
    let mut state = state();
    state.fault = None;
    state.failed
}

/// Record changes from now on. The record begins with the files of `folder`, which count as synced.
pub fn record(folder: &Path) {
    let mut record = Record {
        names: BTreeMap::new(),
        changes: Vec::new(),
        files: 0,
    };
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let file = record.file(entry.file_name().to_str().unwrap());
        let data = fs::read(entry.path()).unwrap();
        record.changes.extend([
            Change::Write {
                file,
                offset: 0,
                data,
            },
            Change::Sync { file, folder: true },
        ]);
    }
    state().record = Some(record);
}

/// The number of changes recorded so far.
pub fn recorded() -> usize {
    state()
        .record
        .as_ref()
        .map_or(0, |record| record.changes.len())
}

/// End the record, and return it.
pub fn take_record() -> Vec<Change> {
    state()
        .record
        .take()
        .map_or_else(Vec::new, |record| record.changes)
}

/// Add a change to the record if the call had success.
fn note(code: c_int, change: impl FnOnce() -> Option<Change>) -> c_int {
    if code == ffi::SQLITE_OK
        && let Some(record) = state().record.as_mut()
    {
        record.changes.extend(change());
    }
    code
}

fn fails(call: Call) -> bool {
    let mut state = state();
    let Some(fault) = state.fault.filter(|fault| fault.call == call) else {
        return false;
    };
    state.calls += 1;
    let fails = state.calls == fault.number || (fault.lasting && state.calls > fault.number);
    state.failed += usize::from(fails);
    fails
}

/// An open file of ours; the file of the platform follows it in memory.
#[repr(C)]
struct File {
    base: sqlite3_file,
    /// The number in the record; None for temporary files, of which nothing is left after a crash.
    number: Option<usize>,
    /// Whether the next sync includes the folder, as the platform's does for a journal or log that may be new.
    syncs_folder: bool,
}

/// The number of an open file in the record.
fn number(file: *mut sqlite3_file) -> Option<usize> {
    // SAFETY: SQLite calls methods of open files only, and `open` has set the number.
    unsafe { (*file.cast::<File>()).number }
}

/// The file of the platform behind one of ours.
unsafe fn real(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: `szOsFile` of our VFS is the size of `File` and of the platform's file together.
    unsafe { file.byte_add(mem::size_of::<File>()) }
}

/// Call a method of the platform's file.
macro_rules! pass {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        // SAFETY: SQLite calls methods of open files only, whose platform file is open then.
        unsafe {
            let file = real($file);
            (*(*file).pMethods).$method.unwrap()(file $(, $argument)*)
        }
    }};
}

/// The platform's VFS, kept in `pAppData` of ours.
unsafe fn platform(vfs: *mut sqlite3_vfs) -> *mut sqlite3_vfs {
    // SAFETY: SQLite passes our VFS, which `install` made.
    unsafe { (*vfs).pAppData.cast() }
}

/// The last part of a path that SQLite passes.
unsafe fn file_name<'n>(path: *const c_char) -> &'n str {
    // SAFETY: the caller passes a path that ends with 0 and outlives the call.
    let path = unsafe { CStr::from_ptr(path) }.to_str().unwrap();
    path.rsplit(['/', '\\']).next().unwrap()
}

extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives `szOsFile` bytes for the file. Without methods it does not close it.
    unsafe {
        (*file).pMethods = ptr::null();
        if fails(Call::Open) {
            return ffi::SQLITE_CANTOPEN;
        }
        let platform = platform(vfs);
        let code = (*platform).xOpen.unwrap()(platform, name, real(file), flags, out);
        if code == ffi::SQLITE_OK {
            (*file).pMethods = &raw const METHODS;
            let ours = file.cast::<File>();
            let logs = ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_WAL;
            let is_kept = flags & (logs | ffi::SQLITE_OPEN_MAIN_DB) != 0;
            let record = &mut state().record;
            (*ours).number = record
                .as_mut()
                .filter(|_| is_kept)
                .map(|record| record.file(file_name(name)));
            (*ours).syncs_folder = flags & logs != 0 && flags & ffi::SQLITE_OPEN_CREATE != 0;
        }
        code
    }
}

extern "C" fn delete(vfs: *mut sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    if fails(Call::Delete) {
        return ffi::SQLITE_IOERR_DELETE;
    }
    // SAFETY: SQLite passes our VFS and a name that ends with 0.
    unsafe {
        let platform = platform(vfs);
        let code = (*platform).xDelete.unwrap()(platform, name, sync);
        if code == ffi::SQLITE_OK
            && let Some(record) = state().record.as_mut()
        {
            let name = file_name(name).to_owned();
            record.names.remove(&name);
            let folder = sync != 0;
            record.changes.push(Change::Delete { name, folder });
        }
        code
    }
}

extern "C" fn access(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: as for `delete`.
    unsafe {
        let platform = platform(vfs);
        (*platform).xAccess.unwrap()(platform, name, flags, out)
    }
}

extern "C" fn full_path(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    length: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: as for `delete`; `out` has `length` bytes.
    unsafe {
        let platform = platform(vfs);
        (*platform).xFullPathname.unwrap()(platform, name, length, out)
    }
}

extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    pass!(file, xClose)
}

extern "C" fn read(
    file: *mut sqlite3_file,
    into: *mut c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    if fails(Call::Read) {
        return ffi::SQLITE_IOERR_READ;
    }
    pass!(file, xRead, into, length, offset)
}

extern "C" fn write(
    file: *mut sqlite3_file,
    from: *const c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    if fails(Call::Write) {
        return ffi::SQLITE_IOERR_WRITE;
    }
    let code = pass!(file, xWrite, from, length, offset);
    note(code, || {
        // SAFETY: SQLite passes `length` bytes at `from`.
        let data = unsafe { slice::from_raw_parts(from.cast::<u8>(), length.try_into().unwrap()) };
        Some(Change::Write {
            file: number(file)?,
            offset: offset.try_into().unwrap(),
            data: data.to_vec(),
        })
    })
}

extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    if fails(Call::Truncate) {
        return ffi::SQLITE_IOERR_TRUNCATE;
    }
    let code = pass!(file, xTruncate, size);
    note(code, || {
        Some(Change::Truncate {
            file: number(file)?,
            size: size.try_into().unwrap(),
        })
    })
}

extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    if fails(Call::Sync) {
        return ffi::SQLITE_IOERR_FSYNC;
    }
    let code = pass!(file, xSync, flags);
    note(code, || {
        // SAFETY: `open` has set the fields of an open file, which one thread uses at a time.
        let folder = unsafe { mem::take(&mut (*file.cast::<File>()).syncs_folder) };
        Some(Change::Sync {
            file: number(file)?,
            folder,
        })
    })
}

extern "C" fn file_size(file: *mut sqlite3_file, size: *mut sqlite3_int64) -> c_int {
    pass!(file, xFileSize, size)
}

extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    if fails(Call::Lock) {
        return ffi::SQLITE_IOERR_LOCK;
    }
    pass!(file, xLock, level)
}

extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    pass!(file, xUnlock, level)
}

extern "C" fn check_reserved(file: *mut sqlite3_file, out: *mut c_int) -> c_int {
    pass!(file, xCheckReservedLock, out)
}

extern "C" fn control(file: *mut sqlite3_file, operation: c_int, argument: *mut c_void) -> c_int {
    pass!(file, xFileControl, operation, argument)
}

extern "C" fn sector_size(file: *mut sqlite3_file) -> c_int {
    pass!(file, xSectorSize)
}

extern "C" fn characteristics(file: *mut sqlite3_file) -> c_int {
    pass!(file, xDeviceCharacteristics)
}

extern "C" fn shared_map(
    file: *mut sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    if fails(Call::SharedMemory) {
        return ffi::SQLITE_IOERR_SHMMAP;
    }
    pass!(file, xShmMap, region, size, extend, out)
}

extern "C" fn shared_lock(file: *mut sqlite3_file, offset: c_int, n: c_int, flags: c_int) -> c_int {
    // SQLite counts on every unlock.
    if flags & ffi::SQLITE_SHM_LOCK != 0 && fails(Call::SharedMemory) {
        return ffi::SQLITE_IOERR_SHMLOCK;
    }
    pass!(file, xShmLock, offset, n, flags)
}

extern "C" fn shared_barrier(file: *mut sqlite3_file) {
    pass!(file, xShmBarrier);
}

extern "C" fn shared_unmap(file: *mut sqlite3_file, delete: c_int) -> c_int {
    pass!(file, xShmUnmap, delete)
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved),
    xFileControl: Some(control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: Some(shared_map),
    xShmLock: Some(shared_lock),
    xShmBarrier: Some(shared_barrier),
    xShmUnmap: Some(shared_unmap),
    xFetch: None,
    xUnfetch: None,
};

static USE: Mutex<()> = Mutex::new(());

/// Make this VFS the default of the process, for one test at a time: while the guard lives.
pub fn install() -> MutexGuard<'static, ()> {
    static REGISTERED: Once = Once::new();
    let guard = USE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the copy of the platform's VFS lives as long as the process. Its other methods ignore
    // the VFS that they are called with.
    REGISTERED.call_once(|| unsafe {
        let platform = ffi::sqlite3_vfs_find(ptr::null());
        let mut ours = *platform;
        ours.szOsFile += c_int::try_from(mem::size_of::<File>()).unwrap();
        ours.zName = c"faults".as_ptr();
        ours.pNext = ptr::null_mut();
        ours.pAppData = platform.cast();
        ours.xOpen = Some(open);
        ours.xDelete = Some(delete);
        ours.xAccess = Some(access);
        ours.xFullPathname = Some(full_path);
        let code = ffi::sqlite3_vfs_register(Box::into_raw(Box::new(ours)), 1);
        assert_eq!(code, ffi::SQLITE_OK);
    });
    disarm();
    guard
}
